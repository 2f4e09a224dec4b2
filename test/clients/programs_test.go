package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"sluice/test/harness"
)

// throughSluice lists ConfigMaps with a program's configuration, and checks that Sluice has answered.
func throughSluice(t *testing.T, cfg *rest.Config) error {
	t.Helper()
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	resp, err := client.Get(cfg.Host + "/api/v1/namespaces/default/configmaps")
	if err != nil {
		return err
	}
	resp.Body.Close()
	if source := resp.Header.Get("Sluice-Source"); resp.StatusCode != http.StatusOK || source == "" {
		return fmt.Errorf("%s from %q", resp.Status, source)
	}
	return nil
}

// pointController patches a Deployment in a cluster with controllers, and reads as its container would.
// test/cluster runs real containers that the component client points to Sluice.
func pointController(t *testing.T, _ *harness.Sluice) {
	plane := harness.Start(t, harness.Options{Controllers: true})
	s := plane.StartSluice(t)
	g := newGuide(t, clientsPage, plane, s)
	admin := plane.Client("admin")
	g.Shell("kubectl create deployment controller --image=controller")
	g.Shell("kubectl create rolebinding controller --clusterrole=view --serviceaccount=default:default")
	before := deployed(t, admin, "1")
	g.Write("to-sluice.yaml", g.Text("to-sluice.yaml"))
	g.Run("controller")
	cfg := inPod(t, admin, deployed(t, admin, "2"))
	if cfg.Host != "https://sluice.sluice.svc:443" {
		t.Errorf("host %s", cfg.Host)
	}
	cfg.Host = s.URL
	harness.Eventually(t, "the controller reads through Sluice", func() error { return throughSluice(t, cfg) })
	back := g.Commands("controller-back")
	g.Shell(back[0])
	if diff := cmp.Diff(before, deployed(t, admin, "3")); diff != "" {
		t.Errorf("the template is not what it was:\n%s", diff)
	}
	g.Shell(back[1])
}

// deployed waits for a revision of the Deployment and returns its pods' specification.
func deployed(t *testing.T, client kubernetes.Interface, revision string) (spec corev1.PodSpec) {
	t.Helper()
	harness.Eventually(t, "revision "+revision, func() error {
		controller, err := client.AppsV1().Deployments("default").Get(t.Context(), "controller", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if found := controller.Annotations["deployment.kubernetes.io/revision"]; found != revision {
			return fmt.Errorf("%s is at revision %q of %s", controller.Name, found, appsv1.SchemeGroupVersion)
		}
		spec = controller.Spec.Template.Spec
		return nil
	})
	return spec
}

// inPod returns what rest.InClusterConfig would in the only container: host and port of its
// environment, token and CA of the volume that is mounted where it looks for them.
func inPod(t *testing.T, client kubernetes.Interface, spec corev1.PodSpec) *rest.Config {
	t.Helper()
	env := map[string]string{}
	for _, e := range spec.Containers[0].Env {
		env[e.Name] = e.Value
	}
	cfg := &rest.Config{Host: "https://" + env["KUBERNETES_SERVICE_HOST"] + ":" + env["KUBERNETES_SERVICE_PORT"]}
	mount := spec.Containers[0].VolumeMounts[0]
	if mount.MountPath != "/var/run/secrets/kubernetes.io/serviceaccount" || mount.Name != spec.Volumes[0].Name {
		t.Errorf("mount %+v of volume %s", mount, spec.Volumes[0].Name)
	}
	for _, source := range spec.Volumes[0].Projected.Sources {
		switch {
		case source.ServiceAccountToken != nil && source.ServiceAccountToken.Path == "token":
			token, err := client.CoreV1().ServiceAccounts("default").CreateToken(t.Context(), "default", &authenticationv1.TokenRequest{
				Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: source.ServiceAccountToken.ExpirationSeconds},
			}, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			cfg.BearerToken = token.Status.Token
		case source.ConfigMap != nil:
			ca, err := client.CoreV1().ConfigMaps("default").Get(t.Context(), source.ConfigMap.Name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			cfg.CAData = []byte(ca.Data["ca.crt"])
		}
	}
	return cfg
}

// startSite runs Sluice at a site and points a program there to it. Its certificate has the name
// that the page uses.
func startSite(t *testing.T, s *harness.Sluice) {
	g := newGuide(t, clientsPage, apiserver, s)
	g.Write("upstream.kubeconfig", contentOf(t, apiserver.Kubeconfig("sluice")))
	file := g.Text("sluice.yaml")
	g.Write("sluice.yaml", strings.Replace(file, "0.0.0.0:8443", "127.0.0.1:0", 1))
	site := g.Commands("site")
	g.Shell(site[0])
	url, admin := g.Serve(site[1])
	g.Shell("sluice kubeconfig --server " + url + " --ca-file ~/.local/state/sluice/ca.crt --write")
	g.Shell("kubectl get namespaces --tls-server-name sluice.example.com")
	if resp, err := http.Get(admin + "/readyz"); err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("%v, %v", resp, err)
	} else {
		resp.Body.Close()
	}
	if !strings.Contains(file, "sluice.example.com") {
		t.Errorf("no such name in\n%s", file)
	}
}

// argoConfig has the fields of ClusterConfig in Argo CD's package v1alpha1 that the page shows. Argo CD is too large a
// module to import.
type argoConfig struct {
	BearerToken     string `json:"bearerToken"`
	ProxyURL        string `json:"proxyUrl"`
	TLSClientConfig struct {
		CAData []byte `json:"caData"`
	} `json:"tlsClientConfig"`
}

// argo returns the configuration that Argo CD makes of a cluster's Secret.
func argo(t *testing.T, secret *corev1.Secret) *rest.Config {
	t.Helper()
	if secret.Labels["argocd.argoproj.io/secret-type"] != "cluster" || len(secret.Data["name"]) == 0 {
		t.Errorf("labels %v, name %q", secret.Labels, secret.Data["name"])
	}
	var c argoConfig
	fields := json.NewDecoder(bytes.NewReader(secret.Data["config"]))
	fields.DisallowUnknownFields()
	if err := fields.Decode(&c); err != nil {
		t.Fatalf("%v\n%s", err, secret.Data["config"])
	}
	cfg := &rest.Config{
		Host: string(secret.Data["server"]), BearerToken: c.BearerToken, TLSClientConfig: rest.TLSClientConfig{CAData: c.TLSClientConfig.CAData},
	}
	if c.ProxyURL != "" {
		proxy, err := url.Parse(c.ProxyURL)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Proxy = http.ProxyURL(proxy)
	}
	return cfg
}

// pointArgo applies the Secret of a cluster, by address and by proxy, and reads as Argo CD would.
func pointArgo(t *testing.T, s *harness.Sluice) {
	g := newGuide(t, clientsPage, apiserver, s)
	g.Shell("kubectl create namespace argocd")
	defer g.Shell("kubectl delete namespace argocd --wait=false")
	const server, proxy = "https://sluice.example.com:8443", `"proxyUrl": "http://sluice.example.com:3128"`
	token := apiserver.RESTConfig("admin").BearerToken
	fill := strings.NewReplacer("TOKEN", token, `"CA"`, `"`+g.Shell("base64 -w0 ca.crt")+`"`)
	text := fill.Replace(g.Text("argocd-cluster.yaml"))
	if !strings.Contains(text, server) || !strings.Contains(text, token) || !strings.Contains(harness.Read(t, clientsPage), proxy) {
		t.Fatalf("no %s or no token in\n%s\nor no %s on the page", server, text, proxy)
	}
	for name, text := range map[string]string{
		"address": strings.Replace(text, server, s.URL, 1),
		"proxy":   strings.NewReplacer(server, apiserver.URL, `"tlsClientConfig"`, fmt.Sprintf(`"proxyUrl": %q, "tlsClientConfig"`, s.Proxy)).Replace(text),
	} {
		g.Write("argocd-cluster.yaml", text)
		g.Run("argocd")
		secret, err := apiserver.Client("admin").CoreV1().Secrets("argocd").Get(t.Context(), "prod", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := throughSluice(t, argo(t, secret)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// prometheusConfig has the fields that the page shows, as Prometheus names them.
type prometheusConfig struct {
	ScrapeConfigs []struct {
		JobName string `json:"job_name"`
		SDs     []struct {
			Role          string `json:"role"`
			APIServer     string `json:"api_server"`
			Authorization struct {
				CredentialsFile string `json:"credentials_file"`
			} `json:"authorization"`
			TLSConfig struct {
				CAFile string `json:"ca_file"`
			} `json:"tls_config"`
		} `json:"kubernetes_sd_configs"`
	} `json:"scrape_configs"`
}

// pointPrometheus reads with the file of the page as Prometheus does: its discovery makes a
// client-go client of these fields, over HTTP/1.1, and accepts the last three only together.
// Debian's Prometheus lacks this discovery.
func pointPrometheus(t *testing.T, s *harness.Sluice) {
	g := newGuide(t, clientsPage, apiserver, s)
	g.Write("token", apiserver.RESTConfig("admin").BearerToken)
	text := strings.NewReplacer("https://sluice.sluice.svc", s.URL, "/var/run/secrets/kubernetes.io/serviceaccount/token", filepath.Join(g.Dir, "token"),
		"/etc/sluice/ca.crt", filepath.Join(g.Dir, "ca.crt")).Replace(g.Text("prometheus.yaml"))
	var there, back prometheusConfig
	if err := yaml.UnmarshalStrict([]byte(text), &there); err != nil {
		t.Fatal(err)
	}
	sd := there.ScrapeConfigs[0].SDs[0]
	cfg := &rest.Config{
		Host: sd.APIServer, BearerTokenFile: sd.Authorization.CredentialsFile,
		TLSClientConfig: rest.TLSClientConfig{CAFile: sd.TLSConfig.CAFile, NextProtos: []string{"http/1.1"}},
	}
	if err := throughSluice(t, cfg); err != nil {
		t.Error(err)
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if err := yaml.UnmarshalStrict([]byte(strings.Join(lines[:len(lines)-3], "\n")), &back); err != nil {
		t.Fatal(err)
	}
	sd = back.ScrapeConfigs[0].SDs[0]
	if sd.Role != "pod" || sd.APIServer != "" || sd.Authorization.CredentialsFile != "" || sd.TLSConfig.CAFile != "" {
		t.Errorf("without the last three lines: %+v", sd)
	}
}
