package cluster

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// scratch holds everything that the cluster writes. It lies in memory and goes with the namespace.
const scratch = "/run/cluster"

// hidden are the directories whose content containerd, the kubelet and the CNI plugins write at fixed
// paths. In the sandbox they are empty and lie in memory.
var hidden = []string{"/run", "/var/lib", "/var/log"}

// wanted holds the kernel settings that a kubelet wants and otherwise sets, for the whole machine. In
// the sandbox a file with the wanted value hides each, so that the kubelet has nothing to change.
var wanted = map[string]string{
	"/proc/sys/kernel/keys/root_maxbytes": "25000000",
	"/proc/sys/kernel/keys/root_maxkeys":  "1000000",
	"/proc/sys/kernel/panic":              "10",
	"/proc/sys/kernel/panic_on_oops":      "1",
	"/proc/sys/vm/overcommit_memory":      "1",
	"/proc/sys/vm/panic_on_oom":           "0",
}

// isolate makes the namespaces of process 1 fit for a node: mounts, host name, network.
func isolate() error {
	steps := []func() error{
		func() error { return mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE) }, // nothing gets out
		func() error { return mount("proc", "/proc", "proc", 0) },
		hideDirectories,
		hideSettings,
		// Volumes that are mounted in a container must show in the others.
		func() error { return mount("none", "/", "", syscall.MS_REC|syscall.MS_SHARED) },
		func() error { return syscall.Sethostname([]byte(nodeName)) },
		network,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func mount(source, target, fs string, flags uintptr) error {
	if err := syscall.Mount(source, target, fs, flags, ""); err != nil {
		return fmt.Errorf("mount %s: %w", target, err)
	}
	return nil
}

func hideDirectories() error {
	for _, dir := range hidden {
		if err := mount("tmpfs", dir, "tmpfs", 0); err != nil {
			return err
		}
	}
	return os.MkdirAll(scratch, 0o700)
}

func hideSettings() error {
	for path, value := range wanted {
		file := filepath.Join(scratch, strings.ReplaceAll(path[1:], "/", "."))
		if err := os.WriteFile(file, []byte(value+"\n"), 0o644); err != nil {
			return err
		}
		if err := mount(file, path, "", syscall.MS_BIND); err != nil {
			return err
		}
	}
	return nil
}

// settings holds the values of kernel settings of the whole machine, by path.
type settings map[string]string

func kernelSettings() settings {
	s := make(settings)
	for path := range wanted {
		value, _ := os.ReadFile(path) // a setting that cannot be read stays empty
		s[path] = string(value)
	}
	return s
}

func (s settings) check() error {
	for path, now := range kernelSettings() {
		if now != s[path] {
			return fmt.Errorf("%s was %q and is %q now", path, s[path], now)
		}
	}
	return nil
}

// The node's network. Nothing leads out of it.
const (
	nodeName   = "node"
	nodeIP     = "192.168.77.2"
	podCIDR    = "10.244.0.0/24"
	linkPrefix = "/24"
)

// network gives the node an address on a pair of virtual devices, both in this namespace.
func network() error {
	for _, args := range []string{
		"link set lo up",
		"link add node0 type veth peer name peer0",
		"link set peer0 up",
		"link set node0 up",
		"addr add " + nodeIP + linkPrefix + " dev node0",
		"route add default dev node0", // the kubelet takes the node's address from it
	} {
		if out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w: %s", args, err, out)
		}
	}
	return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644)
}
