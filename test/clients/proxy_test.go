package clients

import (
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"sluice/test/harness"
)

// inCluster is the address of the apiserver in pods. Nothing resolves it here: only the proxy knows it.
const inCluster = "https://kubernetes.default.svc"

// startProxy starts a gateway with an explicit proxy.
func startProxy(t *testing.T) *harness.Sluice {
	t.Helper()
	return apiserver.StartSluice(t, harness.SluiceOptions{Flags: []string{"--proxy-listen=127.0.0.1:0"}})
}

// throughProxy writes a kubeconfig that differs from the user's own only in its proxy and CA.
func throughProxy(t *testing.T, s *harness.Sluice, server, proxy string) string {
	t.Helper()
	c, err := clientcmd.LoadFromFile(apiserver.Kubeconfig("admin"))
	if err != nil {
		t.Fatal(err)
	}
	for _, cluster := range c.Clusters {
		cluster.Server, cluster.ProxyURL = server, proxy
		cluster.CertificateAuthorityData, cluster.CertificateAuthority = nil, filepath.Join(s.Dir, "ca.crt")
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*c, path); err != nil {
		t.Fatal(err)
	}
	return path
}

func restConfig(t *testing.T, kubeconfig string) *rest.Config {
	t.Helper()
	c, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestProxyLeadsClientsToSluice(t *testing.T) {
	s := startProxy(t)
	configMaps.sync(t, s)
	for name, server := range map[string]string{"address of the apiserver": apiserver.URL, "name in the cluster": inCluster} {
		t.Run("kubectl/"+name, func(t *testing.T) {
			namespace, config := apiserver.Namespace(t), throughProxy(t, s, server, s.Proxy)
			kubectl(t, config, "", "-n", namespace, "create", "configmap", "c", "--from-literal=a=b")
			if out := kubectl(t, config, "", "-n", namespace, "get", "configmaps"); !strings.Contains(out, "c ") {
				t.Error(out)
			}
		})
	}
	t.Run("kubectl/exec", func(t *testing.T) { execThroughProxy(t, s) })
	t.Run("kubectl sluice", pluginOfKubectl)
	t.Run("HTTPS_PROXY", func(t *testing.T) {
		cmd := kubectlFor(t.Context(), t, throughProxy(t, s, inCluster, ""), "", "get", "namespace", "default")
		cmd.Env = append(os.Environ(), "HTTPS_PROXY="+s.Proxy, "NO_PROXY=")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
	t.Run("client-go", func(t *testing.T) {
		client, err := rest.HTTPClientFor(restConfig(t, throughProxy(t, s, inCluster, s.Proxy)))
		if err != nil {
			t.Fatal(err)
		}
		defer client.CloseIdleConnections()
		a, err := client.Get(inCluster + "/api/v1/configmaps?resourceVersion=0")
		if err != nil {
			t.Fatal(err)
		}
		defer a.Body.Close()
		if source := a.Header.Get("Sluice-Source"); a.ProtoMajor != 2 || !strings.HasPrefix(source, "cache") {
			t.Errorf("%s from %q", a.Proto, source)
		}
	})
	t.Run("curl", func(t *testing.T) { curlThroughProxy(t, s) })
	t.Run("Python", func(t *testing.T) { pythonThroughProxy(t, s) })
	t.Run("JavaScript", func(t *testing.T) {
		namespace := apiserver.Namespace(t)
		w := configMaps.in(t, namespace)
		w.create("first")
		w.create("second")
		p := startNode(t, throughProxy(t, s, inCluster, s.Proxy), namespace)
		p.converge(namespace)
		w.create("third")
		p.converge(namespace)
	})
}

// execThroughProxy checks that both dialers of kubectl, for WebSockets and for SPDY, come through the
// proxy to the apiserver, which has no kubelet and says so.
func execThroughProxy(t *testing.T, s *harness.Sluice) {
	namespace, config := apiserver.Namespace(t), throughProxy(t, s, inCluster, s.Proxy)
	pod := `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}`
	kubectl(t, config, pod, "-n", namespace, "create", "-f", "-")
	for _, webSockets := range []string{"true", "false"} {
		cmd := kubectlFor(t.Context(), t, config, "", "-n", namespace, "exec", "p", "--", "true")
		cmd.Env = append(os.Environ(), "KUBECTL_REMOTE_COMMAND_WEBSOCKETS="+webSockets)
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "pod p does not have a host assigned") {
			t.Errorf("WebSockets %s: %v\n%s", webSockets, err, out)
		}
	}
}

// pluginOfKubectl runs Sluice as a plugin of kubectl, which finds it in PATH. pointKubectl points a kubeconfig to Sluice and back.
func pluginOfKubectl(t *testing.T) {
	plugins := t.TempDir()
	for _, name := range []string{"kubectl-sluice", "kubectl_complete-sluice"} {
		if err := os.Symlink(harness.Program(t, "sluice-race"), filepath.Join(plugins, name)); err != nil {
			t.Fatal(err)
		}
	}
	plugin := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), harness.Program(t, "kubectl"), args...)
		cmd.Env = append(os.Environ(), "PATH="+plugins+":"+os.Getenv("PATH"))
		return cmd
	}
	out, err := plugin("__complete", "sluice", "clients", "--sort-by", "would").Output()
	if err != nil || !strings.HasPrefix(string(out), "would-cost\n") {
		t.Errorf("kubectl completes kubectl sluice by %q, %v", out, err)
	}
	out, err = plugin("sluice", "kubeconfig", "--help").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "\n  kubectl sluice kubeconfig {") {
		t.Errorf("%v\n%s", err, out)
	}
}

// curlThroughProxy prints the proxy's status code, the server's, and the body.
func curlThroughProxy(t *testing.T, s *harness.Sluice) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed")
	}
	admin, err := url.Parse(s.Admin)
	if err != nil {
		t.Fatal(err)
	}
	api := inCluster + "/api/v1/namespaces/default"
	for _, tt := range []struct {
		name, target, want string
		args               []string
	}{
		{"HTTP/2", api, "proxy 200 server 200", []string{"--http2"}},
		{"HTTP/1.1", api, "proxy 200 server 200", []string{"--http1.1"}},
		{"upper case", "https://KUBERNETES.default.svc/api", "proxy 200 server 200", nil},
		{"another host", "https://example.com/", "proxy 403", nil},
		{"another port", "https://kubernetes.default.svc:9443/", "proxy 403", nil},
		{"admin listener", "https://" + admin.Host + "/metrics", "proxy 403", nil},
		{"admin listener by plain HTTP", s.Admin + "/metrics", "server 403", nil},
		{"admin listener in a tunnel", s.Admin + "/metrics", "proxy 403", []string{"--proxytunnel"}},
	} {
		args := append([]string{"-sS", "--max-time", "120", "--proxy", s.Proxy, "--noproxy", "", "--cacert", filepath.Join(s.Dir, "ca.crt"),
			"-H", "Authorization: Bearer " + apiserver.RESTConfig("admin").BearerToken,
			"-w", "\nproxy %{http_connect} server %{http_code}", tt.target}, tt.args...)
		printed, _ := exec.CommandContext(t.Context(), "curl", args...).CombinedOutput() // a refusal is an error for curl
		if out := string(printed); !strings.Contains(out, tt.want) || strings.Contains(out, "sluice_build_info") {
			t.Errorf("%s: want %s\n%s", tt.name, tt.want, out)
		}
	}
}

// python returns a Python that has the client, or skips the test.
func python(t *testing.T) string {
	for _, name := range []string{"python3", "/usr/bin/python3"} { // Debian's, where another comes first
		if exec.CommandContext(t.Context(), name, "-c", "import kubernetes").Run() == nil {
			return name
		}
	}
	t.Skip("python3-kubernetes is not installed")
	return ""
}

func pythonThroughProxy(t *testing.T, s *harness.Sluice) {
	program := python(t)
	namespace := apiserver.Namespace(t)
	w := configMaps.in(t, namespace)
	w.create("first")
	cmd := exec.CommandContext(t.Context(), program, filepath.Join("python", "main.py"), throughProxy(t, s, inCluster, s.Proxy), namespace, s.Proxy)
	cmd.Stderr = os.Stderr
	line := lines(t, startCommand(t, cmd))
	next := func(want string) {
		t.Helper()
		if got := line(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	next("list first")
	w.create("second")
	next("ADDED second")
	w.label("second", "a", "b")
	next("MODIFIED second")
	w.delete("second")
	next("DELETED second")
	next("error 404")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// The proxy itself may speak TLS.
func TestProxySpeaksTLS(t *testing.T) {
	dir := t.TempDir()
	s := apiserver.StartSluice(t, harness.SluiceOptions{Dir: dir, Config: fmt.Sprintf(`
apiVersion: sluice/v1alpha1
kind: Configuration
proxy:
  listen: 127.0.0.1:0
  hosts: [kubernetes.default.svc:443]
  tls: {certFile: %[1]s/tls.crt, keyFile: %[1]s/tls.key}
`, dir)})
	if !strings.HasPrefix(s.Proxy, "https://") {
		t.Fatalf("the proxy is %s", s.Proxy)
	}
	kubectl(t, throughProxy(t, s, inCluster, s.Proxy), "", "get", "namespace", "default")
	out, err := kubectlFor(t.Context(), t, throughProxy(t, s, "https://example.com", s.Proxy), "", "get", "namespace", "default").CombinedOutput()
	if want := "leads only to the Kubernetes API, at kubernetes.default.svc:443"; err == nil || !strings.Contains(string(out), want) {
		t.Errorf("%v, want %q\n%s", err, want, out)
	}
}

// A watch through the proxy ends in order when the gateway shuts down.
func TestProxyDrainsWithTheGateway(t *testing.T) {
	s := startProxy(t)
	configMaps.sync(t, s)
	client := kubernetes.NewForConfigOrDie(restConfig(t, throughProxy(t, s, inCluster, s.Proxy)))
	body, err := client.CoreV1().RESTClient().Get().AbsPath("/api/v1/configmaps").
		Param("watch", "1").Param("resourceVersion", "0").Stream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	if err := s.Terminate(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, body); err != nil {
		t.Errorf("the watch ended with %v", err)
	}
	<-s.Done()
}
