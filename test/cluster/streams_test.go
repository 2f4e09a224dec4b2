package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/client-go/util/exec"
	"k8s.io/streaming/pkg/httpstream"

	"sluice/test/harness"
)

// streaming is a way to upgrade a connection, without falling back to the other.
type streaming struct {
	name     string
	executor func(*rest.Config, *url.URL) (remotecommand.Executor, error)
	dialer   func(*rest.Config, *url.URL) (httpstream.Dialer, error)
}

var streamings = []streaming{
	{
		name: "websocket",
		executor: func(c *rest.Config, u *url.URL) (remotecommand.Executor, error) {
			return remotecommand.NewWebSocketExecutor(c, http.MethodGet, u.String())
		},
		dialer: func(c *rest.Config, u *url.URL) (httpstream.Dialer, error) {
			return portforward.NewSPDYOverWebsocketDialerForStreaming(u, c)
		},
	},
	{
		name: "spdy",
		executor: func(c *rest.Config, u *url.URL) (remotecommand.Executor, error) {
			return remotecommand.NewSPDYExecutor(c, http.MethodPost, u)
		},
		dialer: func(c *rest.Config, u *url.URL) (httpstream.Dialer, error) {
			transport, upgrader, err := spdy.RoundTripperFor(c)
			return spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, u), err
		},
	},
}

// target is a pod as a user reaches it through Sluice.
type target struct {
	config    *rest.Config
	client    kubernetes.Interface
	namespace string
	pod       string
}

func (p target) url(subresource string, options *corev1.PodExecOptions) *url.URL {
	r := p.client.CoreV1().RESTClient().Post().Namespace(p.namespace).Resource("pods").Name(p.pod).SubResource(subresource)
	if options != nil {
		r = r.VersionedParams(options, scheme.ParameterCodec)
	}
	return r.URL()
}

// stream runs a command with an input, if there is one.
func (p target) stream(ctx context.Context, s streaming, in io.Reader, command ...string) (out, errs string, err error) {
	u := p.url("exec", &corev1.PodExecOptions{Stdin: in != nil, Stdout: true, Stderr: true, Command: command})
	e, err := s.executor(p.config, u)
	if err != nil {
		return "", "", err
	}
	var stdout, stderr bytes.Buffer
	err = e.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: in, Stdout: &stdout, Stderr: &stderr})
	return stdout.String(), stderr.String(), err
}

// bulk is more than any buffer on the way holds.
var bulk = strings.Repeat("0123456789abcde\n", 1<<16)

// Exec, attach and port-forward carry every byte, and exit codes, over WebSocket and over SPDY, for
// callers with tokens and with client certificates.
func (n *Node) streamsReachContainers(t *testing.T, sluice *harness.Sluice) {
	namespace := n.Namespace(t)
	n.createPod(t, namespace, clientPod("web", "serve"))
	reader := clientPod("reader", "cat")
	reader.Spec.Containers[0].Stdin = true
	n.createPod(t, namespace, reader)
	n.waitPodsReady(t, namespace, "app=web", 1)
	n.waitPodsReady(t, namespace, "app=reader", 1)
	for _, user := range []string{"admin", "admin-cert"} {
		for _, s := range streamings {
			t.Run(user+"/"+s.name, func(t *testing.T) {
				p := target{sluice.RESTConfig(user), sluice.Client(user), namespace, "web"}
				t.Run("exec", func(t *testing.T) { p.checkExec(t, s) })
				t.Run("port-forward", func(t *testing.T) { p.checkPortForward(t, s) })
				p.pod = "reader"
				t.Run("attach", func(t *testing.T) { p.checkAttach(t, s) })
			})
		}
	}
	config := n.throughProxy(t, sluice)
	for _, s := range streamings { // each has a client of CONNECT of its own
		t.Run("proxy/"+s.name, func(t *testing.T) {
			p := target{config, kubernetes.NewForConfigOrDie(config), namespace, "web"}
			t.Run("exec", func(t *testing.T) { p.checkExec(t, s) })
			t.Run("port-forward", func(t *testing.T) { p.checkPortForward(t, s) })
		})
	}
	t.Run("kubectl", func(t *testing.T) { n.kubectlReachesContainers(t, sluice, namespace) })
}

// throughProxy returns the configuration of a client that uses the address at which Sluice reaches the apiserver, and Sluice
// as its HTTP proxy.
func (n *Node) throughProxy(t *testing.T, sluice *harness.Sluice) *rest.Config {
	t.Helper()
	proxy, err := url.Parse(sluice.Proxy)
	if err != nil {
		t.Fatal(err)
	}
	config := sluice.RESTConfig("admin")
	config.Host, config.Proxy = strings.Replace(n.URL, nodeIP, routedIP, 1), http.ProxyURL(proxy)
	return config
}

func (p target) checkExec(t *testing.T, s streaming) {
	out, errs, err := p.stream(t.Context(), s, nil, "/client", "echo", "a", "b")
	if out != "a b\n" || errs != "" || err != nil {
		t.Errorf("echo: %q, %q, %v", out, errs, err)
	}
	var exit exec.CodeExitError
	_, errs, err = p.stream(t.Context(), s, nil, "/client", "echo", "fail")
	if !errors.As(err, &exit) || exit.Code != 3 || errs != "failed as asked\n" {
		t.Errorf("a command that fails: %q, %v", errs, err)
	}
	out, _, err = p.stream(t.Context(), s, strings.NewReader(bulk), "/client", "cat")
	if err != nil || out != bulk {
		t.Errorf("%d of %d bytes came back: %v", len(out), len(bulk), err)
	}
	if _, _, err = p.stream(t.Context(), s, nil, "/missing"); err == nil {
		t.Error("a program that does not exist did run")
	}
}

// checkAttach writes to the container's input until its output shows it. The stream stays open on both
// sides until the client leaves.
func (p target) checkAttach(t *testing.T, s streaming) {
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	in, write := io.Pipe()
	read, out := io.Pipe()
	e, err := s.executor(p.config, p.url("attach", &corev1.PodExecOptions{Stdin: true, Stdout: true}))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		err := e.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: in, Stdout: out})
		_ = out.CloseWithError(fmt.Errorf("attach has ended: %w", errors.Join(err, io.EOF)))
		ended <- err
	}()
	go func() { _, _ = io.WriteString(write, "hello over "+s.name+"\n") }()
	line := make([]byte, len("hello over "+s.name+"\n"))
	if _, err := io.ReadFull(read, line); err != nil || !strings.Contains(string(line), s.name) {
		t.Errorf("read %q: %v", line, err)
	}
	leave()
	go func() { _, _ = io.Copy(io.Discard, read) }()
	<-ended
}

func (p target) checkPortForward(t *testing.T, s streaming) {
	dialer, err := s.dialer(p.config, p.url("portforward", nil))
	if err != nil {
		t.Fatal(err)
	}
	stop, ready := make(chan struct{}), make(chan struct{})
	forwarder, err := portforward.NewForStreaming(dialer, []string{"0:8080"}, stop, ready, io.Discard, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- forwarder.ForwardPorts() }()
	select {
	case err := <-ended:
		t.Fatal(err)
	case <-ready:
	}
	defer func() {
		close(stop)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	ports, err := forwarder.GetPorts()
	if err != nil {
		t.Fatal(err)
	}
	// Several connections share the upgraded one.
	for range 3 {
		response, err := http.Post(fmt.Sprintf("http://127.0.0.1:%d/echo", ports[0].Local), "text/plain", strings.NewReader(bulk))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || string(body) != bulk {
			t.Errorf("%d of %d bytes came back: %v", len(body), len(bulk), err)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}
