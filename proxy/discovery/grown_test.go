package discovery

import (
	"net/http"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice/codec"
	"sluice/test/support/fake"
)

// The schema prints the status of a CSINode, which releases before 1.37 do not have, even if it is empty.
func TestObjectsOfAReleaseThatLacksAFieldAreStoredAsJSON(t *testing.T) {
	nodes := fake.Resource{GVR: schema.GroupVersionResource{Group: "storage.k8s.io", Version: "v1", Resource: "csinodes"}, Kind: "CSINode", Protobuf: true}
	for _, tt := range []struct {
		name, items string
		version     http.HandlerFunc
		want        codec.Encoding
	}{
		{"as the schema prints it", `{"metadata":{"name":"n"},"spec":{"drivers":null},"status":{}}`, fake.Release("v1.36.0"), codec.Protobuf},
		{"without the field", `{"metadata":{"name":"n"},"spec":{"drivers":null}}`, fake.Release("v1.37.2"), codec.JSON},
		{"no object, release with the field", "", fake.Release("v1.37.0-beta.1+x"), codec.Protobuf},
		{"no object, older release", "", fake.Release("v1.36.3"), codec.JSON},
		{"no object, unknown release", "", fake.Refuse(http.StatusForbidden), codec.JSON},
	} {
		list := `{"kind":"CSINodeList","apiVersion":"storage.k8s.io/v1","metadata":{"resourceVersion":"1"},"items":[` + tt.items + `]}`
		d, err := describe(t, nodes, false, append(respondJSON("first list", list), respond("version", tt.version)))
		if err != nil {
			t.Fatal(tt.name, err)
		}
		if d.Resource.Source != tt.want || (d.Schema != nil) != (tt.want == codec.Protobuf) {
			t.Errorf("%s: stored as %v", tt.name, d.Resource.Source)
		}
	}
}
