package clients

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"sluice/test/harness"
)

// sample is a resource and an object of it with values that the encodings write differently:
// quantities, times, bytes, integers or strings.
type sample struct {
	harness.Resource
	object string // YAML, without apiVersion and kind; NAME stands for the name
}

func resource(group, version, name, kind string) harness.Resource {
	return harness.Resource{GV: schema.GroupVersion{Group: group, Version: version}, API: metav1.APIResource{Name: name, Kind: kind, Namespaced: true}}
}

func (s sample) gvr() schema.GroupVersionResource { return s.GV.WithResource(s.API.Name) }

var (
	pods = sample{resource("", "v1", "pods", "Pod"), `
metadata: {name: NAME, labels: {app: x}, annotations: {text: "line\nbreak, \u00fc"}}
spec:
  containers:
  - {name: c, image: i, resources: {requests: {cpu: 1500m, memory: 0.5Gi}}, readinessProbe: {httpGet: {path: /, port: http}}}
  - {name: d, image: j, readinessProbe: {tcpSocket: {port: 80}}}
`}
	configMaps = sample{resource("", "v1", "configmaps", "ConfigMap"), `
metadata: {name: NAME, labels: {app: x}}
data: {a: "1", empty: ""}
binaryData: {b: AAEC/w==}
`}
	deployments = sample{resource("apps", "v1", "deployments", "Deployment"), `
metadata: {name: NAME, labels: {app: x}}
spec:
  selector: {matchLabels: {a: b}}
  strategy: {rollingUpdate: {maxSurge: 25%, maxUnavailable: 0}}
  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}
`}
	leases = sample{resource("coordination.k8s.io", "v1", "leases", "Lease"), `
metadata: {name: NAME, labels: {app: x}}
spec: {holderIdentity: me, leaseDurationSeconds: 40, renewTime: "2026-01-02T03:04:05.000006Z"}
`}
	gadgets = sample{resource("clients.example.com", "v1", "gadgets", "Gadget"), `
metadata: {name: NAME, labels: {app: x}}
spec: {size: 3, weight: 1.5, large: 9007199254740993, round: 2.0, color: red, free: {list: [1, a, null, {}], text: "\u00fc", none: null}}
`}
)

const gadgetDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.clients.example.com}
spec:
  group: clients.example.com
  scope: Namespaced
  names: {plural: gadgets, singular: gadget, kind: Gadget}
  versions:
  - name: v1
    served: true
    storage: true
    selectableFields: [{jsonPath: .spec.color}]
    additionalPrinterColumns: [{name: Size, type: integer, jsonPath: .spec.size}, {name: Color, type: string, priority: 1, jsonPath: .spec.color}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            description: spec of a gadget
            properties:
              size: {type: integer}
              weight: {type: number}
              round: {type: number}
              large: {type: integer, format: int64}
              color: {type: string}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true}
`

// sync waits until a gateway caches the resource.
func (s sample) sync(t *testing.T, gateway *harness.Sluice) {
	t.Helper()
	gateway.WaitForCacheSync(t, s.Path(""), s.SyncName())
}

// in returns a writer of objects of the resource in a namespace.
func (s sample) in(t *testing.T, namespace string) objectWriter {
	return objectWriter{t, s, s.Path(namespace)}
}

// objectWriter changes objects directly at the apiserver. It sends JSON, whatever feature gates of
// client-go a test enables.
type objectWriter struct {
	t      *testing.T
	sample sample
	path   string
}

// create creates an object. It retries while a new custom resource is not served yet.
func (w objectWriter) create(name string) {
	w.t.Helper()
	group, kind := w.sample.GV, w.sample.API.Kind
	object := toJSON(w.t, fmt.Sprintf("apiVersion: %s\nkind: %s\n", group, kind)+strings.Replace(w.sample.object, "NAME", name, 1))
	harness.Eventually(w.t, "create "+kind, func() error { return w.send(http.MethodPost, w.path, object) })
}

func (w objectWriter) label(name, key, value string) {
	w.t.Helper()
	w.patch(name, fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, key, value))
}

func (w objectWriter) patch(name, patch string) {
	w.t.Helper()
	if err := w.send(http.MethodPatch, w.path+"/"+name, patch); err != nil {
		w.t.Fatal(err)
	}
}

func (w objectWriter) delete(name string) {
	w.t.Helper()
	if err := w.send(http.MethodDelete, w.path+"/"+name+"?gracePeriodSeconds=0", ""); err != nil {
		w.t.Fatal(err)
	}
}

// send sends one write. It returns an error for 404, and ends the test on any other failure.
func (w objectWriter) send(method, path, object string) error {
	w.t.Helper()
	a, err := apiserver.Raw("admin").Write(w.t.Context(), method, path, object)
	if err != nil && a.Status != http.StatusNotFound {
		w.t.Fatal(err)
	}
	return err
}

func toJSON(t *testing.T, text string) string {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// defineGadgets creates the CustomResourceDefinition of gadgets, if there is none.
func defineGadgets(t *testing.T) {
	t.Helper()
	apiserver.MustHave(t, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", toJSON(t, gadgetDefinition))
}
