package main

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/rest"
	basecompatibility "k8s.io/component-base/compatibility"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // as kube-apiserver's main does
	_ "k8s.io/component-base/metrics/prometheus/version"  // as kube-apiserver's main does
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	apiserveroptions "k8s.io/kubernetes/cmd/kube-apiserver/app/options"
)

// apiserver is a kube-apiserver that is configured but does not run yet.
type apiserver struct {
	listener net.Listener
	flags    []string
}

// newAPIServer opens the listener, so that the port is known and taken before anything else starts.
func newAPIServer(o options, etcd string) (*apiserver, error) {
	l, err := net.Listen("tcp", netip.AddrPortFrom(o.address, uint16(o.port)).String())
	if err != nil {
		return nil, err
	}
	return &apiserver{listener: l, flags: apiserverFlags(o, etcd)}, nil
}

func (a *apiserver) url() string { return "https://" + a.listener.Addr().String() }

// run serves until ctx ends. It repeats the command of kube-apiserver, which handles signals itself
// and does not accept a listener.
func (a *apiserver) run(ctx context.Context) error {
	s := apiserveroptions.NewServerRunOptions()
	fs := pflag.NewFlagSet("kube-apiserver", pflag.ContinueOnError)
	sets := s.Flags()
	s.Flagz = flagzReader{fs}
	for _, f := range sets.FlagSets {
		fs.AddFlagSet(f)
	}
	if err := fs.Parse(a.flags); err != nil {
		return err
	}
	s.SecureServing.Listener = a.listener
	s.SecureServing.BindPort = a.listener.Addr().(*net.TCPAddr).Port

	globals := s.GenericServerRunOptions.ComponentGlobalsRegistry
	if err := globals.Set(); err != nil {
		return err
	}
	rest.SetDefaultWarningHandler(rest.NoWarnings{})
	gate := globals.FeatureGateFor(basecompatibility.DefaultKubeComponent)
	if err := logsapi.ValidateAndApply(s.Logs, gate); err != nil {
		return err
	}
	completed, err := s.Complete(ctx)
	if err != nil {
		return err
	}
	if errs := completed.Validate(); len(errs) != 0 {
		return utilerrors.NewAggregate(errs)
	}
	globals.AddMetrics()
	return app.Run(ctx, completed)
}

// flagzReader is the Reader of package flagz, whose import path is not the same in every release.
type flagzReader struct{ *pflag.FlagSet }

// GetFlagz returns the value of every flag.
func (r flagzReader) GetFlagz() map[string]string {
	flags := make(map[string]string)
	r.VisitAll(func(f *pflag.Flag) { flags[f.Name] = f.Value.String() })
	return flags
}

// apiserverFlags returns the default flags, except those that the user overrides, and the user's flags.
// Disabled admission plugins accumulate: disabling another one must not enable the first again.
func apiserverFlags(o options, etcd string) []string {
	defaults := append(defaultFlags(o.dir), "--etcd-servers="+etcd)
	defaults = slices.DeleteFunc(defaults, func(f string) bool {
		name, _, _ := strings.Cut(f, "=")
		return slices.ContainsFunc(o.extra, func(x string) bool {
			given, _, _ := strings.Cut(x, "=")
			return given == name
		})
	})
	if !o.controllers {
		// Without controllers there are no service accounts, which the plugin requires for pods.
		defaults = append(defaults, "--disable-admission-plugins=ServiceAccount")
	}
	return append(defaults, o.extra...)
}

// defaultFlags returns the flags that kubeadm sets, as far as clients observe them: authentication,
// authorization, admission and aggregation.
func defaultFlags(d directory) []string {
	return []string{
		"--bind-address=127.0.0.1",
		// An unreachable address; endpoints must not be loopback addresses.
		"--advertise-address=192.0.2.1",
		"--service-cluster-ip-range=10.0.0.0/16",
		"--allow-privileged=true",
		"--tls-cert-file=" + d.file(apiserverPair+".crt"),
		"--tls-private-key-file=" + d.file(apiserverPair+".key"),
		"--token-auth-file=" + d.file(tokenFile),
		"--client-ca-file=" + d.file(clientCA+".crt"),
		"--requestheader-client-ca-file=" + d.file(frontProxyCA+".crt"),
		"--requestheader-allowed-names=" + frontProxyPair,
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-uid-headers=X-Remote-Uid",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + d.file(frontProxyPair+".crt"),
		"--proxy-client-key-file=" + d.file(frontProxyPair+".key"),
		"--delete-collection-workers=8", // deleting 10,000 objects one by one takes minutes
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-signing-key-file=" + d.file(serviceAccounts),
		"--service-account-key-file=" + d.file(serviceAccounts),
	}
}
