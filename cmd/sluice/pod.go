package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
)

// pod is a pod of Sluice, whose admin listener is reached through the apiserver, as kubectl port-forward does. No port of this
// host is opened for it.
type pod struct {
	at                  string // namespace/name, or a namespace with one ready pod of Sluice
	kubeconfig, context string
}

func (p *pod) register(set *pflag.FlagSet) {
	set.StringVar(&p.at, "pod", "", "NAMESPACE/NAME of the pod to reach by port-forward; a NAMESPACE alone if one pod of Sluice is ready there")
	set.StringVar(&p.kubeconfig, "kubeconfig", "", "path of the kubeconfig for --pod")
	set.StringVar(&p.context, "context", "", "context of the kubeconfig for --pod")
}

// encrypted reports whether nothing between this host and the apiserver can read the connection.
func (p *pod) encrypted() bool {
	cfg, err := restConfig(p.kubeconfig, p.context)
	if err != nil {
		return false
	}
	u, _, err := rest.DefaultServerUrlFor(cfg)
	return err == nil && (u.Scheme == "https" || loopback(u.Hostname()))
}

// bound bounds the requests of a transport, for which the dialers of client-go have no context.
type bound struct {
	ctx  context.Context
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (b *bound) RoundTrip(r *http.Request) (*http.Response, error) {
	return b.next.RoundTrip(r.WithContext(b.ctx))
}

// dial connects to a port of the pod until the context, which has a deadline, ends.
func (p *pod) dial(ctx context.Context, port string) (net.Conn, error) {
	cfg, err := restConfig(p.kubeconfig, p.context)
	if err != nil {
		return nil, err
	}
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return &bound{ctx, next} })
	cfg.APIPath, cfg.GroupVersion, cfg.NegotiatedSerializer = "/api", &corev1.SchemeGroupVersion, scheme.Codecs.WithoutConversion()
	client, err := rest.RESTClientFor(cfg)
	if err != nil {
		return nil, err
	}
	namespace, name, named := strings.Cut(p.at, "/")
	if !named {
		if name, err = onlyPod(ctx, client, namespace); err != nil {
			return nil, err
		}
	}
	u := client.Post().Namespace(namespace).Resource("pods").Name(name).SubResource("portforward").URL()
	dialer, err := portforward.NewSPDYOverWebsocketDialerForStreaming(u, cfg)
	if err != nil {
		return nil, err
	}
	c, _, err := dialer.Dial(portforward.PortForwardProtocolV1Name)
	if err != nil {
		return nil, fmt.Errorf("pod %s/%s: %w", namespace, name, err)
	}
	context.AfterFunc(ctx, func() { _ = c.Close() })
	conn, err := newForwarded(c, port)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return conn, nil
}

// podLabel is the label of the pods of Sluice.
const podLabel = "app.kubernetes.io/name=sluice"

// onlyPod returns the name of the only ready pod of Sluice in a namespace.
func onlyPod(ctx context.Context, client rest.Interface, namespace string) (string, error) {
	pods := &corev1.PodList{}
	err := client.Get().Namespace(namespace).Resource("pods").Param("labelSelector", podLabel).Do(ctx).Into(pods)
	if err != nil {
		return "", err
	}
	var names []string
	for _, p := range pods.Items {
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue && p.DeletionTimestamp == nil {
				names = append(names, namespace+"/"+p.Name)
			}
		}
	}
	switch len(names) {
	case 0:
		return "", fmt.Errorf("--pod: no pod with %s is ready in %s", podLabel, namespace)
	case 1:
		return strings.TrimPrefix(names[0], namespace+"/"), nil
	}
	return "", fmt.Errorf("--pod: name one of %s", strings.Join(names, ", "))
}

// forwarded is a connection to a port of a pod.
type forwarded struct {
	net.Conn   // has no deadlines and no addresses: the client of the connection ends it by Close
	stream     httpstream.Stream
	connection httpstream.Connection
	failed     sync.WaitGroup
	failure    []byte // why the node could not connect; set when failed is done
}

func newForwarded(c httpstream.Connection, port string) (*forwarded, error) {
	header := http.Header{corev1.PortHeader: {port}, corev1.PortForwardRequestIDHeader: {"0"}}
	header.Set(corev1.StreamType, corev1.StreamTypeError)
	failures, err := c.CreateStream(header)
	if err != nil {
		return nil, err
	}
	_ = failures.Close() // nothing is written to it
	unused, _ := net.Pipe()
	f := &forwarded{Conn: unused, connection: c}
	f.failed.Go(func() { f.failure, _ = io.ReadAll(io.LimitReader(failures, 1<<10)) })
	header.Set(corev1.StreamType, corev1.StreamTypeData)
	f.stream, err = c.CreateStream(header)
	return f, err
}

// Read implements net.Conn. At the end it says why the node could not connect.
func (f *forwarded) Read(b []byte) (int, error) {
	n, err := f.stream.Read(b)
	if err != nil && n == 0 {
		_ = f.stream.Reset() // the node tells why only once all is read
		f.failed.Wait()
		if len(f.failure) > 0 {
			return 0, errors.New(string(bytes.TrimSpace(f.failure)))
		}
	}
	return n, err
}

// Write implements net.Conn.
func (f *forwarded) Write(b []byte) (int, error) { return f.stream.Write(b) }

// Close implements net.Conn.
func (f *forwarded) Close() error { return f.connection.Close() }

// adminPort is the port of the admin listener where an address has none.
const adminPort = "9443"

// through lets a transport reach an address in the pod until a context ends. A transport may dial on after its request.
func (p *pod) through(ctx context.Context, transport *http.Transport, port string) {
	transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
		return p.dial(ctx, cmp.Or(port, adminPort))
	}
}
