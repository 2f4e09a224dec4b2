package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"

	"k8s.io/apimachinery/pkg/types"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/cli"
	wardle "k8s.io/sample-apiserver/pkg/cmd/server"
)

const (
	// sampleCommand is the hidden sub-command that runs the sample API server. It gets a process of
	// its own for the reasons that the controllers have.
	sampleCommand = "sample-apiserver"
	sampleUser    = "sample-apiserver"
	// sampleDescriptor is where the child finds its listener: the first of exec.Cmd's ExtraFiles.
	sampleDescriptor = 3
	// sampleService is the name by which the aggregator checks the certificate.
	sampleService = sampleCommand + ".kube-system.svc"
	sampleGroup   = "wardle.example.com"
)

// sampleVersions are those that the sample serves: flunders in both, fischers in the first.
var sampleVersions = []string{"v1alpha1", "v1beta1"}

// sampleServer is the child process: all of sample-apiserver's main but its listener.
func sampleServer(args []string) int {
	l, err := net.FileListener(os.NewFile(sampleDescriptor, "listener"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	o := wardle.NewWardleServerOptions(os.Stdout, os.Stderr)
	o.RecommendedOptions.SecureServing.Listener = l
	o.RecommendedOptions.SecureServing.BindPort = l.Addr().(*net.TCPAddr).Port
	cmd := wardle.NewCommandStartWardleServer(genericapiserver.SetupSignalContext(), o, false)
	cmd.SetArgs(args)
	return cli.Run(cmd)
}

// sample is a sample API server that does not run yet.
type sample struct {
	dir      directory
	listener *net.TCPListener
	etcd     string
}

// newSample opens the listener at once, as newAPIServer does.
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

// makeReady waits until the child serves, puts it behind the aggregator, and waits until it is
// reached there. The aggregator tries again only after seconds, hence the first wait.
func (s *sample) makeReady(ctx context.Context, c kubernetes.Interface) error {
	direct, err := rest.HTTPClientFor(&rest.Config{
		TLSClientConfig: rest.TLSClientConfig{CAFile: s.dir.file(servingCA + ".crt")}, Timeout: probeTimeout,
	})
	if err != nil {
		return err
	}
	defer direct.CloseIdleConnections()
	if err := poll(ctx, func() bool { return answers(direct, "https://"+s.listener.Addr().String()+"/readyz") }); err != nil {
		return err
	}
	if err := s.register(ctx, c); err != nil {
		return fmt.Errorf("register %s: %w", sampleCommand, err)
	}
	return poll(ctx, func() bool {
		var errs error
		for _, v := range sampleVersions {
			_, err := c.Discovery().RESTClient().Get().AbsPath("/apis/" + sampleGroup + "/" + v + "/flunders").DoRaw(ctx)
			errs = errors.Join(errs, err)
		}
		return errs == nil
	})
}

func answers(c *http.Client, url string) bool {
	resp, err := c.Get(url)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// register makes the Service and the APIServices, or on a restart brings them up to date. Endpoints
// may not be loopback addresses, hence the external name.
func (s *sample) register(ctx context.Context, c kubernetes.Interface) error {
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

// apply makes or changes one object.
func apply(ctx context.Context, c kubernetes.Interface, path, object string) error {
	return c.Discovery().RESTClient().Patch(types.ApplyYAMLPatchType).AbsPath(path).
		Param("fieldManager", "controlplane").Param("force", "true").Body([]byte(object)).Do(ctx).Error()
}
