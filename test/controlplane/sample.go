package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/client-go/rest"
	"k8s.io/component-base/cli"
	wardle "k8s.io/sample-apiserver/pkg/cmd/server"
)

const (
	// sampleCommand is the hidden subcommand that runs the sample API server. It needs a separate
	// process for the same reasons as the controllers.
	sampleCommand = "sample-apiserver"
	sampleUser    = "sample-apiserver"
	// sampleDescriptor is the file descriptor of the child's listener: the first of ExtraFiles.
	sampleDescriptor = 3
	// sampleService is the name that the aggregator verifies in the certificate.
	sampleService = sampleCommand + ".kube-system.svc"
	sampleGroup   = "wardle.example.com"
)

// sampleVersions are the API versions of the sample: flunders are in both, fischers in the first.
var sampleVersions = []string{"v1alpha1", "v1beta1"}

// sampleServer is the main function of the child process.
func sampleServer(args []string) int {
	l, err := net.FileListener(os.NewFile(sampleDescriptor, "listener"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	o := wardle.NewWardleServerOptions(os.Stdout, os.Stderr)
	o.RecommendedOptions.SecureServing.Listener = l
	o.RecommendedOptions.SecureServing.BindPort = l.Addr().(*net.TCPAddr).Port
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cmd := wardle.NewCommandStartWardleServer(ctx, o, false)
	cmd.SetArgs(args)
	return cli.Run(cmd)
}

// sample is a sample API server that is configured but does not run yet.
type sample struct {
	dir      directory
	listener *net.TCPListener
	etcd     string
}

// newSample opens the listener, as newAPIServer does.
func newSample(d directory, etcd string) (*sample, error) {
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	return &sample{d, l, etcd}, err
}

// run runs the child until ctx ends, once ready is closed.
func (s *sample) run(ctx context.Context, ready <-chan struct{}) error {
	f, err := s.listener.File()
	if err != nil {
		return err
	}
	defer f.Close()
	kubeconfig := s.dir.file(fileName(sampleUser) + ".kubeconfig")
	return runChild(ctx, s.dir, ready, child{
		log: "sample.log",
		args: []string{
			sampleCommand,
			"--etcd-servers=" + s.etcd,
			"--kubeconfig=" + kubeconfig,
			"--authentication-kubeconfig=" + kubeconfig,
			"--authorization-kubeconfig=" + kubeconfig,
			"--tls-cert-file=" + s.dir.file(apiserverPair+".crt"),
			"--tls-private-key-file=" + s.dir.file(apiserverPair+".key"),
		},
		files: []*os.File{f},
	})
}

// makeReady waits until the child serves, registers it with the aggregator, and waits until the
// apiserver proxies to it. Without the first wait the aggregator would retry only after seconds.
func (s *sample) makeReady(ctx context.Context, c rest.Interface) error {
	direct, err := unversioned(&rest.Config{
		Host: "https://" + s.listener.Addr().String(), TLSClientConfig: rest.TLSClientConfig{CAFile: s.dir.file(servingCA + ".crt")},
	})
	if err != nil {
		return err
	}
	if err := retry(ctx, func() error { return get(ctx, direct, "/readyz") }); err != nil {
		return err
	}
	if err := retry(ctx, func() error { return s.register(ctx, c) }); err != nil {
		return fmt.Errorf("register %s: %w", sampleCommand, err)
	}
	return retry(ctx, func() error {
		var errs error
		for _, v := range sampleVersions {
			errs = errors.Join(errs, get(ctx, c, "/apis/"+sampleGroup+"/"+v+"/flunders"))
		}
		return errs
	})
}

// register creates or updates the Service and the APIServices. It uses an external name because
// endpoints must not be loopback addresses.
func (s *sample) register(ctx context.Context, c rest.Interface) error {
	ca, err := os.ReadFile(s.dir.file(servingCA + ".crt"))
	if err != nil {
		return err
	}
	port := s.listener.Addr().(*net.TCPAddr).Port
	errs := []error{apply(ctx, c, "/api/v1/namespaces/kube-system/services/"+sampleCommand, fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {name: %s, namespace: kube-system}
spec: {type: ExternalName, externalName: localhost, ports: [{port: %d}]}
`, sampleCommand, port))}
	for _, v := range sampleVersions {
		name := v + "." + sampleGroup
		errs = append(errs, apply(ctx, c, "/apis/apiregistration.k8s.io/v1/apiservices/"+name, fmt.Sprintf(`
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: %s}
spec:
  group: %s
  version: %s
  groupPriorityMinimum: 1000
  versionPriority: 15
  caBundle: %s
  service: {name: %s, namespace: kube-system, port: %d}
`, name, sampleGroup, v, base64.StdEncoding.EncodeToString(ca), sampleCommand, port)))
	}
	return errors.Join(errs...)
}
