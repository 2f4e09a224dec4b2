package storage

import (
	"net/http"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/test/harness"
)

// TestTextThatIsNotUTF8EqualsTheApiservers stores bytes that are not UTF-8, which clients can write in
// Protobuf. The apiserver escapes them in JSON. Tables that would print them pass.
func TestTextThatIsNotUTF8EqualsTheApiservers(t *testing.T) {
	const name = "not-utf-8"
	holder := "\xff \ufffd \xed\xa0\x80"
	s := stored{name, coordinationv1.SchemeGroupVersion.WithKind("Lease"), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: namespace, Annotations: map[string]string{"a\xff": "\xff\x00"}, Finalizers: []string{"\xff"},
		},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder},
	}}
	const in = "/apis/coordination.k8s.io/v1/namespaces/" + namespace + "/leases"
	put(t, "/registry/leases/"+namespace+"/"+name, s)
	gateway.WaitForCacheSync(t, "/apis/coordination.k8s.io/v1/leases", "leases.v1.coordination.k8s.io")
	url := in + "/" + name + "?resourceVersion=0"
	for _, c := range []*harness.RawClient{server.Raw("admin"), gateway.Raw("admin")} {
		c.AwaitStatus(t, http.StatusOK, harness.Request{Path: url}) // the watch cache has the object
	}
	for _, f := range formats() {
		source, err := compare(t.Context(), url+f.query, f.code+f.as)
		if err != nil || strings.HasPrefix(source, "cache") == (f.as == asTable) {
			t.Errorf("get %v: from %s: %v", f, source, err)
		}
		query := "?resourceVersion=0&fieldSelector=metadata.name=" + name + f.query
		if _, err := compare(t.Context(), in+query, f.code+f.list); err != nil {
			t.Errorf("list %v: %v", f, err)
		}
	}
}
