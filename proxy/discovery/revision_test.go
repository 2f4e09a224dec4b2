package discovery

import (
	"fmt"
	"testing"

	"sluice/codec/json"
)

func crd(uid string, generation int, kind, property, column string) *revision {
	return revisionOf(json.Value(fmt.Sprintf(`{"metadata":{"uid":%q,"generation":%d},"spec":{"versions":[{"name":"v1","schema":{%q:{}},
		"additionalPrinterColumns":[{"name":%q}]}]},"status":{"acceptedNames":{"kind":%q}}}`, uid, generation, property, column, kind)))
}

func TestRevisionsDifferByWhatMayChangeObjects(t *testing.T) {
	was := crd("u", 1, "Widget", "p", "A")
	for _, tt := range []struct {
		name        string
		now         *revision
		equal, only bool
	}{
		{"nothing", crd("u", 1, "Widget", "p", "A"), true, false},
		{"columns", crd("u", 2, "Widget", "p", "B"), false, true},
		{"columns, in two updates", crd("u", 3, "Widget", "p", "B"), false, false},
		{"schema", crd("u", 2, "Widget", "q", "A"), false, false},
		{"accepted names", crd("u", 1, "Gadget", "p", "A"), false, false},
		{"recreated", crd("v", 1, "Widget", "p", "A"), false, false},
		{"unknown", nil, false, false},
	} {
		if equal, only := was.equal(tt.now), was.onlyColumnsChanged(tt.now); equal != tt.equal || only != tt.only {
			t.Errorf("%s: equal: %v, only columns: %v", tt.name, equal, only)
		}
	}
}

// Numbers such as bounds and defaults must not be rounded when revisions are compared.
func TestRevisionsKeepLargeNumbers(t *testing.T) {
	const spec = `{"metadata":{"uid":"u","generation":1},"spec":{"default":%s}}`
	a, b := revisionOf(json.Value(fmt.Sprintf(spec, "9007199254740993"))), revisionOf(json.Value(fmt.Sprintf(spec, "9007199254740992")))
	if a.spec == b.spec {
		t.Error("specs are equal")
	}
}

func TestCRDWithoutIdentityHasNoRevision(t *testing.T) {
	for _, crd := range []string{`{}`, `{"metadata":{"uid":"u"},"spec":{}}`, `{"metadata":{"generation":1},"spec":{}}`, `{"metadata":{"uid":"u","generation":1}}`} {
		if revisionOf(json.Value(crd)) != nil {
			t.Error(crd)
		}
	}
}
