package main

import (
	"bufio"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"

	"sluice/proxy/clients"
	"sluice/proxy/see"
)

// startForwarding serves port-forward to ports of this host as an apiserver does it, and lists of pods. The pods of the namespace
// two answer once both are asked. It returns a kubeconfig.
func startForwarding(t *testing.T) string {
	t.Helper()
	mux, asked := http.NewServeMux(), make(chan bool)
	viewed := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Authorization"); got != "Bearer of-the-viewer" {
			t.Errorf("a pod was sent %q", got)
		}
		fmt.Fprint(w, `{"kind": "Status", "state": "well", "resources": []}`)
	}))
	t.Cleanup(viewed.Close)
	mux.HandleFunc("GET /api/v1/namespaces/{namespace}/pods", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("labelSelector") != podLabel {
			t.Errorf("lists %s", r.URL)
		}
		var items []string
		for i, phase := range map[string][]string{
			"one": {"Running", "Pending"}, "two": {"Running", "Running"}, "three": {"Running", "Running", "Running"}, "viewed": {"Running"}, "unviewed": {"Running"},
		}[r.PathValue("namespace")] {
			items = append(items, fmt.Sprintf(`{"metadata":{"name":"sluice-%d"},"status":{"phase":%q}}`, i, phase))
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"apiVersion":"v1","kind":"PodList","items":[%s]}`, strings.Join(items, ","))
	})
	mux.HandleFunc("GET /api/v1/namespaces/{namespace}/pods/{name}/portforward", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("name") > "sluice-1" {
			http.NotFound(w, r)
			return
		}
		if r.PathValue("namespace") == "two" {
			select {
			case asked <- true:
			case <-asked:
			case <-r.Context().Done():
			}
		}
		upgrader := websocket.Upgrader{Subprotocols: []string{"SPDY/3.1+portforward.k8s.io"}}
		socket, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		streams := make(chan httpstream.Stream, 2)
		c, err := spdy.NewServerConnection(portforward.NewTunnelingConnection("server", socket), func(s httpstream.Stream, _ <-chan struct{}) error {
			streams <- s
			return nil
		})
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		failures, data := <-streams, <-streams
		if data.Headers().Get(corev1.StreamType) == corev1.StreamTypeError {
			failures, data = data, failures
		}
		address := "127.0.0.1:" + data.Headers().Get(corev1.PortHeader)
		if address == "127.0.0.1:"+adminPort {
			address = viewed.Listener.Addr().String()
		}
		if to, err := net.Dial("tcp", address); err != nil {
			fmt.Fprint(failures, "cannot connect: ", err)
			_ = data.Close()
			_ = failures.Close()
		} else {
			go func() { _, _ = io.Copy(to, data) }()
			go func() { _, _ = io.Copy(data, to) }()
			defer to.Close()
		}
		<-c.CloseChan()
	})
	mux.HandleFunc("GET /api/v1/namespaces/{namespace}/configmaps/sluice-ca", func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.PathValue("namespace"), "viewed") {
			http.NotFound(w, r)
			return
		}
		ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: viewed.Certificate().Raw})
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]string{"ca.crt": string(ca)}})
	})
	mux.HandleFunc("POST /api/v1/namespaces/viewed/serviceaccounts/sluice-viewer/token", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","status":{"token":"of-the-viewer"}}`)
	})
	return kubeconfigFor(t, answering(t, mux.ServeHTTP), "one")
}

// TestPodsAreReachedThroughTheApiserver by every command that asks the admin listener.
func TestPodsAreReachedThroughTheApiserver(t *testing.T) {
	kubeconfig := startForwarding(t)
	unused := listen(t)
	unused.Close()
	address := strings.Replace(startAdmin(t), "127.0.0.1", "sluice.example.com", 1)
	for _, tt := range []struct {
		args []string
		code int
	}{
		{[]string{"status", "--pod", "one/sluice-0"}, exitNotWell},
		{[]string{"status", "--pod", "one"}, exitNotWell}, // one of the two runs
		{[]string{"clients", "--pod", "one"}, 0},
		{[]string{"watches", "--pod", "one"}, 0},
		{[]string{"status", "--pod", "two"}, exitNotWell},                     // of both
		{[]string{"bundle", "--yes", "-o", "-", "--pod", "two"}, exitUnknown}, // of one of them
		{[]string{"clients", "--pod", "three"}, exitUnknown},                  // one is not there
		{[]string{"status", "--pod", "none"}, exitUnknown},
		{[]string{"status", "--pod", "one/sluice-7"}, exitUnknown},
	} {
		out, code := execute(t, append(tt.args, "--address", address, "--kubeconfig", kubeconfig)...)
		if code != tt.code || code != exitUnknown && out == "" {
			t.Errorf("%q: exit %d, want %d: %s", tt.args, code, tt.code, out)
		}
	}
	for at, want := range map[string]string{"three": "name one of three/sluice-0, three/sluice-1", "none": "no pod with", "one": "cannot connect"} {
		c := adminClient{address: "http://" + unused.Addr().String(), timeout: time.Minute, pod: pod{at: at, kubeconfig: kubeconfig}}
		if _, err := c.ask(t.Context(), "/"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", at, err, want)
		}
	}
}

// TestInstallationsSayHowTheirPodsAreReached: by the CA and a token of their namespace, which is sent to nobody without a
// certificate for it.
func TestInstallationsSayHowTheirPodsAreReached(t *testing.T) {
	kubeconfig := startForwarding(t)
	for _, tt := range []struct {
		args []string
		code int
	}{
		{[]string{"--pod=viewed", "--tls-server-name=example.com"}, 0}, // as in the certificate
		{[]string{"--pod=viewed/sluice-0", "--tls-server-name=example.com"}, 0},
		{[]string{"--pod=viewed"}, exitUnknown},
		{[]string{"--pod=viewed", "--address=https://127.0.0.1:" + adminPort}, exitUnknown}, // which needs --ca-file
		{[]string{"--pod=unviewed", "--tls-server-name=example.com"}, exitUnknown},
	} {
		if out, code := execute(t, append([]string{"status", "--kubeconfig", kubeconfig}, tt.args...)...); code != tt.code {
			t.Errorf("%q: exit %d, want %d: %s", tt.args, code, tt.code, out)
		}
	}
}

// TestEveryReplicaIsAsked by its namespace: costs and watches are added, and a status tells only the differences apart.
func TestEveryReplicaIsAsked(t *testing.T) {
	kubeconfig := startForwarding(t)
	admin := startAdmin(t)
	run := func(args ...string) string {
		out, _ := execute(t, append([]string{args[0], "--pod=two", "--address=" + admin, "--kubeconfig=" + kubeconfig}, args[1:]...)...)
		return out
	}
	var l clients.ClientList
	if err := json.Unmarshal([]byte(run("clients", "-o", "json")), &l); err != nil || len(l.Items) != 2 {
		t.Fatalf("%v: %d rows", err, len(l.Items))
	}
	for _, r := range l.Items {
		if r.User == "jane" && r.Count("served") != 2 || r.User == "joe" && (r.Watches != 4 || r.BehindEvents != 7) {
			t.Errorf("%+v", r)
		}
	}
	if out := run("watches", "--behind", "1s"); !strings.Contains(out, "secrets.v1  2 ") {
		t.Errorf("watches:\n%s", out)
	}
	if out := run("status"); strings.Count(out, "The connection to the apiserver fails") != 1 {
		t.Errorf("a sentence of both:\n%s", out)
	}
	if out := run("status", "-o", "json"); strings.Count(out, `"pod": "two/sluice-`) != 2 || !strings.Contains(out, "StatusList") {
		t.Errorf("as JSON:\n%s", out)
	}
	if out := run("watches", "--pod=three"); !strings.Contains(out, "secrets.v1  2 ") {
		t.Errorf("one does not answer:\n%s", out)
	}
	c := adminClient{address: admin, timeout: time.Minute, pod: pod{at: "three", kubeconfig: kubeconfig}}
	pods, all, err := getAll[clients.ClientList](t.Context(), c, "clients", nil, "ClientList")
	if len(pods) != 2 || len(all) != 2 || err == nil || !strings.HasPrefix(err.Error(), "pod three/sluice-2: ") || exitCode(err) != exitUnknown {
		t.Errorf("%d of %q answer: %v", len(all), pods, err)
	}
	status := func(sentence string, objects float64) *see.Status {
		return &see.Status{Verdict: see.Verdict{Sentence: sentence}, Facts: &see.Facts{Resources: []see.Resource{
			{Name: "pods.v1", Synced: true, Objects: objects}, {Name: "nodes.v1", Synced: true}}}}
	}
	a := statusAnswer{pods: []string{"two/a", "two/b"}, all: []*see.Status{status("Well.", 1), status("Filling.", 2)}}
	text := regexp.MustCompile(" +").ReplaceAllString(string(a.text(false, 0)), " ")
	for _, want := range []string{"two/a: Well.", "two/b: Filling.", "two/a pods.v1 served 1", "two/b pods.v1 served 2", "all nodes.v1 served 0"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestThePluginFindsThePods: in the namespace of the context, or in the usual one, unless an address is given.
func TestThePluginFindsThePods(t *testing.T) {
	kubeconfig := startForwarding(t)
	admin := startAdmin(t)
	name := os.Args[0]
	t.Cleanup(func() { os.Args[0] = name })
	os.Args[0] = "/usr/local/bin/kubectl-sluice"
	for _, tt := range []struct{ kubeconfig, address, env, want string }{
		{kubeconfig, "", "", "one"}, {kubeconfigFor(t, "https://127.0.0.1:1", ""), "", "", "sluice"}, {writeFile(t, "none", ""), "", "", "sluice"},
		{kubeconfig, admin, "", ""}, {kubeconfig, "", admin, ""},
	} {
		t.Setenv("SLUICE_ADDRESS", tt.env)
		var c adminClient
		command := &cobra.Command{Run: func(*cobra.Command, []string) {}}
		c.prepare(command)
		args := []string{"--kubeconfig", tt.kubeconfig}
		if tt.address != "" {
			args = append(args, "--address", tt.address)
		}
		command.SetArgs(args)
		if err := command.Execute(); err != nil || c.pod.at != tt.want {
			t.Errorf("%+v: %q, %v", tt, c.pod.at, err)
		}
	}
}

// kubeconfigFor returns the path of a kubeconfig for a server, whose context names a namespace.
func kubeconfigFor(t *testing.T, server, namespace string) string {
	t.Helper()
	return writeFile(t, "kubeconfig", `{"apiVersion":"v1","kind":"Config","clusters":[{"name":"c","cluster":{"server":"`+server+`"}}],
		"contexts":[{"name":"c","context":{"cluster":"c","namespace":"`+namespace+`"}}],"current-context":"c"}`)
}

// TestHungApiserversKeepNoConnection once the question has ended, however far the answer has come.
func TestHungApiserversKeepNoConnection(t *testing.T) {
	for name, answers := range map[string]map[string]string{
		"nothing":            {},
		"a part of an error": {"GET": "HTTP/1.1 500 x\r\n\r\n{"},
	} {
		t.Run(name, func(t *testing.T) {
			listener := listen(t)
			var connections sync.WaitGroup
			connections.Go(func() {
				for {
					c, err := listener.Accept()
					if err != nil {
						return
					}
					connections.Go(func() {
						defer c.Close()
						_ = c.SetReadDeadline(time.Now().Add(time.Minute))
						r, err := http.ReadRequest(bufio.NewReader(c))
						if err != nil {
							return
						}
						if _, err = io.WriteString(c, answers[r.Method]); err == nil {
							_, err = io.Copy(io.Discard, c) // until it is closed
						}
						if errors.Is(err, os.ErrDeadlineExceeded) {
							t.Error("the connection is open")
						}
					})
				}
			})
			c := adminClient{address: "http://127.0.0.1:1", timeout: time.Second}
			c.pod = pod{at: "one/sluice-0", kubeconfig: kubeconfigFor(t, "http://"+listener.Addr().String(), "")}
			if _, err := c.ask(t.Context(), "/"); err == nil {
				t.Error("there is an answer")
			}
			listener.Close()
			connections.Wait()
		})
	}
}
