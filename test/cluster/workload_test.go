package cluster

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/test/harness"
)

const clientAccount = "client"

// workload is a namespace with ConfigMaps and a service account that may read those, in its namespace or in
// all, and nothing else.
type workload struct {
	*Node
	namespace string
	everyone  bool // the account may read the ConfigMaps of all namespaces
}

func (n *Node) newWorkload(t *testing.T, everyone bool) workload {
	t.Helper()
	w := workload{n, n.Namespace(t), everyone}
	k := newKubectl(t, n.Kubeconfig("admin"), "--namespace="+w.namespace)
	k.run("create", "serviceaccount", clientAccount)
	kind, name := "role", clientAccount
	if everyone {
		kind, name = "clusterrole", "client-"+w.namespace
		t.Cleanup(func() {
			rbac := n.Client("admin").RbacV1()
			_ = rbac.ClusterRoles().Delete(context.Background(), name, metav1.DeleteOptions{})
			_ = rbac.ClusterRoleBindings().Delete(context.Background(), name, metav1.DeleteOptions{})
		})
	}
	k.run("create", kind, name, "--verb=get,list,watch", "--resource=configmaps")
	k.run("create", kind+"binding", name, "--"+kind+"="+name, "--serviceaccount="+w.namespace+":"+clientAccount)
	return w
}

// configMaps is the path of the workload's ConfigMaps.
func (w workload) configMaps() string { return "/api/v1/namespaces/" + w.namespace + "/configmaps" }

// seen is what a client says about its informer.
type seen struct {
	Synced  bool
	Objects map[string]string
}

// answer is what a client got for a request.
type answer struct {
	Code   int
	Body   string
	Server string
}

// ask decodes the answer of a client's HTTP server.
func ask(ctx context.Context, pod corev1.Pod, path string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+pod.Status.PodIP+":8080"+path, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	return json.NewDecoder(response.Body).Decode(into)
}

// checkClient checks that the client in a pod reads from server, has exactly the rights of its service
// account, and follows changes.
func (w workload) checkClient(t *testing.T, pod corev1.Pod, server string) {
	t.Helper()
	elsewhere := http.StatusForbidden
	if w.everyone {
		elsewhere = http.StatusOK
	}
	harness.Eventually(t, "the informer of "+pod.Name+" has synced", func() error {
		var got seen
		if err := ask(t.Context(), pod, "/informer", &got); err != nil || got.Synced {
			return err
		}
		return errors.New("it has not")
	}) // before that a get passes if the store is still being filled
	own := "/api/v1/namespaces/" + w.namespace
	for path, code := range map[string]int{
		own + "/configmaps":                                    http.StatusOK,
		own + "/configmaps?resourceVersion=0":                  http.StatusOK,
		own + "/configmaps/kube-root-ca.crt?resourceVersion=0": http.StatusOK,
		own + "/configmaps/missing":                            http.StatusNotFound,
		own + "/secrets":                                       http.StatusForbidden,
		"/api/v1/namespaces/default/configmaps":                elsewhere,
		"/api/v1/configmaps?resourceVersion=0":                 elsewhere,
		"/api/v1/namespaces/kube-system/secrets":               http.StatusForbidden,
	} {
		var got answer
		if err := ask(t.Context(), pod, "/get?path="+url.QueryEscape(path), &got); err != nil {
			t.Fatal(err)
		}
		if got.Code != code || got.Server != server {
			t.Errorf("GET %s at %s: %d %s; want %d at %s", path, got.Server, got.Code, got.Body, code, server)
		}
		if user := "system:serviceaccount:" + w.namespace + ":" + clientAccount; code == http.StatusForbidden && !strings.Contains(got.Body, user) {
			t.Errorf("GET %s: %q does not name %s", path, got.Body, user)
		}
	}
	w.checkInformer(t, pod)
}

// servesFromCache calls reads, and checks by the metrics of gateways that these have served ConfigMaps from
// their caches, and have open watches of them.
func (n *Node) servesFromCache(t *testing.T, gateways []string, reads func()) {
	t.Helper()
	served := func(verb string) float64 {
		return n.gauge(t, gateways, "sluice_request_total", "resource=configmaps", "source=cache", "verb="+verb)
	}
	lists, gets := served("LIST"), served("GET")
	reads()
	lists, gets = served("LIST")-lists, served("GET")-gets
	if watches := n.gauge(t, gateways, "sluice_watchers", "resource=configmaps"); lists < 2 || gets < 1 || watches < 1 {
		t.Errorf("the cache served %v lists, %v gets and %v open watches of ConfigMaps", lists, gets, watches)
	}
}

// checkInformer changes ConfigMaps at the apiserver until the client's informer has seen all of it.
func (w workload) checkInformer(t *testing.T, pod corev1.Pod) {
	t.Helper()
	admin := w.Raw("admin")
	for i := range 20 {
		name := fmt.Sprintf("%s-%d", pod.Name, i)
		admin.Must(t, http.MethodPost, w.configMaps(), fmt.Sprintf(`{"metadata":{"name":%q}}`, name))
		admin.Must(t, http.MethodPatch, w.configMaps()+"/"+name, `{"data":{"changed":"yes"}}`)
		if i%2 == 0 {
			admin.Must(t, http.MethodDelete, w.configMaps()+"/"+name, "")
		}
	}
	harness.Eventually(t, "the informer of "+pod.Name+" has the apiserver's state", func() error {
		var got seen
		if err := ask(t.Context(), pod, "/informer", &got); err != nil {
			return err
		}
		return w.sameState(t.Context(), got.Objects)
	})
}

// sameState compares the resource versions of ConfigMaps, by name, with the apiserver's.
func (w workload) sameState(ctx context.Context, got map[string]string) error {
	list, err := w.Client("admin").CoreV1().ConfigMaps(w.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	want := make(map[string]string)
	for _, m := range list.Items {
		want[m.Name] = m.ResourceVersion
	}
	if !maps.Equal(got, want) {
		return fmt.Errorf("it has %v, the apiserver %v", got, want)
	}
	return nil
}

// adminAddresses returns the addresses of the admin listeners of pods.
func adminAddresses(pods []corev1.Pod, port string) (addresses []string) {
	for _, p := range pods {
		addresses = append(addresses, net.JoinHostPort(p.Status.PodIP, port))
	}
	return addresses
}

// unverified reaches pods by addresses that their certificates do not have, as probes of the kubelet do.
var unverified = http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}

// gauge returns the sum of a metric over gateways, named by their admin listeners.
func (n *Node) gauge(t *testing.T, gateways []string, name string, labels ...string) float64 {
	t.Helper()
	sum := 0.0
	for _, address := range gateways {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+n.RESTConfig("admin").BearerToken)
		response, err := unverified.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		metrics, err := harness.ParseMetrics(response.Body)
		response.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		sum += metrics.Sum(name, labels...)
	}
	return sum
}
