package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"

	"github.com/spf13/pflag"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
)

// pod is a pod of Sluice, whose admin listener is reached through the apiserver, as kubectl port-forward does. No port of this
// host is opened for it.
type pod struct {
	at                  string // namespace/name, or a namespace with running pods of Sluice
	kubeconfig, context string
}

func (p *pod) register(set *pflag.FlagSet) {
	set.StringVar(&p.at, "pod", "", "NAMESPACE/NAME of the pod to reach by port-forward, or the NAMESPACE of all running pods of Sluice; kubectl sluice without --address asks the pods in the namespace of the context, or in sluice")
	set.StringVar(&p.kubeconfig, "kubeconfig", "", "path of the kubeconfig for --pod")
	set.StringVar(&p.context, "context", "", "context of the kubeconfig for --pod")
}

// namespace returns that of the context, or the usual one if it names none.
func (p *pod) namespace() string {
	namespace, _, err := loadKubeconfig(p.kubeconfig, p.context).Namespace()
	if err != nil || namespace == metav1.NamespaceDefault {
		return "sluice"
	}
	return namespace
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

// connect returns a client of the apiserver until the context, which has a deadline, ends.
func (p *pod) connect(ctx context.Context) (*rest.Config, *rest.RESTClient, error) {
	cfg, err := restConfig(p.kubeconfig, p.context)
	if err != nil {
		return nil, nil, err
	}
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return &bound{ctx, next} })
	cfg.APIPath, cfg.GroupVersion, cfg.NegotiatedSerializer = "/api", &corev1.SchemeGroupVersion, scheme.Codecs.WithoutConversion()
	client, err := rest.RESTClientFor(cfg)
	return cfg, client, err
}

// dial connects to a port of the pod until the context, which has a deadline, ends.
func (p *pod) dial(ctx context.Context, port string) (net.Conn, error) {
	cfg, client, err := p.connect(ctx)
	if err != nil {
		return nil, err
	}
	names, err := p.running(ctx)
	if err != nil {
		return nil, err
	}
	if len(names) > 1 {
		return nil, fmt.Errorf("--pod: name one of %s", strings.Join(names, ", "))
	}
	namespace, name, _ := strings.Cut(names[0], "/")
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

// running returns the pod, or the running pods of Sluice in the namespace, at least one.
func (p *pod) running(ctx context.Context) (names []string, err error) {
	if p.at == "" || strings.Contains(p.at, "/") {
		return []string{p.at}, nil
	}
	_, client, err := p.connect(ctx)
	if err != nil {
		return nil, err
	}
	pods := &corev1.PodList{}
	if err := client.Get().Namespace(p.at).Resource("pods").Param("labelSelector", podLabel).Do(ctx).Into(pods); err != nil {
		return nil, err
	}
	for _, pod := range pods.Items {
		if pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil {
			names = append(names, p.at+"/"+pod.Name)
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no pod with %s runs in %s: name the namespace of Sluice with --pod", podLabel, p.at)
	}
	return names, nil
}

// The names of deploy/ in the namespace of Sluice: of the ConfigMap with its CA, and of the service account of readers.
const caConfigMap, viewerAccount = "sluice-ca", "sluice-viewer"

// viewer returns the CA of the pods in their namespace, and a token of the service account that may only read their pages. The
// token of the kubeconfig never reaches a pod. Without the CA in the namespace both are nil: listeners on loopback need none.
func (p *pod) viewer(ctx context.Context) (ca, token []byte, err error) {
	_, client, err := p.connect(ctx)
	if err != nil {
		return nil, nil, err
	}
	namespace, _, _ := strings.Cut(p.at, "/")
	var m corev1.ConfigMap
	var t authenticationv1.TokenRequest
	err = client.Get().Namespace(namespace).Resource("configmaps").Name(caConfigMap).Do(ctx).Into(&m)
	if apierrors.IsNotFound(err) {
		return nil, nil, nil
	}
	if err == nil {
		err = client.Post().Namespace(namespace).Resource("serviceaccounts").Name(viewerAccount).SubResource("token").Body(&t).Do(ctx).Into(&t)
	}
	return []byte(m.Data["ca.crt"]), []byte(t.Status.Token), err
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
