package cluster

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"sluice/test/harness"
)

// plugins is where Debian installs the CNI plugins.
const plugins = "/usr/lib/cni"

// programs maps the programs that a node needs to their Debian packages.
var programs = map[string]string{
	"containerd":                       "containerd",
	"ctr":                              "containerd",
	"containerd-shim-runc-v2":          "containerd",
	"runc":                             "runc",
	"iptables":                         "iptables",
	"ip":                               "iproute2",
	filepath.Join(plugins, "bridge"):   "containernetworking-plugins",
	filepath.Join(plugins, "loopback"): "containernetworking-plugins",
}

// maySetUp reports whether root has its usual powers, which it lacks in most containers.
func maySetUp() bool {
	var header = unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return false
	}
	for _, c := range []uint{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN} {
		if data[0].Effective&(1<<c) == 0 {
			return false
		}
	}
	points, err := hierarchies()
	return err == nil && !slices.ContainsFunc(points, func(p string) bool { return unix.Access(p, unix.W_OK) != nil })
}

// lacking returns why no node can run here, or an empty string.
func lacking() string {
	switch {
	case os.Getenv("CLUSTER") == "":
		return "CLUSTER is not set: run make test-cluster"
	case os.Geteuid() != 0:
		return "namespaces, mounts and containerd require root"
	case !maySetUp():
		return "namespaces, mounts and cgroups require CAP_SYS_ADMIN, CAP_NET_ADMIN and writable cgroups: this is a restricted container"
	}
	missing := make(map[string]bool)
	for program, pkg := range programs {
		if _, err := exec.LookPath(program); err != nil {
			missing[pkg] = true
		}
	}
	if len(missing) > 0 {
		return "missing Debian packages: " + strings.Join(slices.Sorted(maps.Keys(missing)), " ")
	}
	root, err := harness.Root()
	if err != nil {
		return err.Error()
	}
	for _, dir := range hidden {
		if strings.HasPrefix(root, dir+"/") {
			return fmt.Sprintf("the repository lies in %s, which the sandbox hides: move it", dir)
		}
	}
	return ""
}
