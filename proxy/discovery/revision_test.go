package discovery

import (
	"fmt"
	"net/http"
	"testing"
	"time"

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

// The handlers of an apiserver may not know a recent CRD.
func TestCRDIsRecentUnlessItIsKnownToBeOld(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	date := now.Format(http.TimeFormat)
	ago := func(d time.Duration) string { return now.Add(-d).Format(time.RFC3339) }
	const old = time.Hour
	for _, tt := range []struct {
		name       string
		generation int
		managed    string
		date       string
		want       bool
	}{
		{"created just now", 1, `{"time":"` + ago(0) + `"}`, date, false},
		{"updated just now", 2, `{"time":"` + ago(0) + `"}`, date, true},
		{"updated when handlers may still lag, if both times are rounded", 2, `{"time":"` + ago(lag) + `"}`, date, true},
		{"updated before that", 2, `{"time":"` + ago(lag+time.Second) + `"}`, date, false},
		{"one of its fields updated lately", 2, `{"time":"` + ago(old) + `"},{"time":"` + ago(lag) + `"},{"time":"` + ago(old) + `"}`, date, true},
		{"a status written lately", 2, `{"time":"` + ago(lag) + `","subresource":"status"}`, date, true},
		{"updated long ago", 7, `{"time":"` + ago(old) + `"},{"time":"` + ago(2*old) + `"}`, date, false},
		{"updated, and nobody knows when", 2, "", date, true},
		{"updated by managers without a time", 2, `{"manager":"a"}`, date, true},
		{"updated in the future", 2, `{"time":"` + ago(-old) + `"}`, date, true},
		{"without a date", 2, `{"time":"` + ago(old) + `"}`, "", true},
		{"with a date that is none", 2, `{"time":"` + ago(old) + `"}`, "yesterday", true},
	} {
		text := json.Value(fmt.Sprintf(`{"metadata":{"uid":"u","generation":%d,"managedFields":[%s]},"spec":{"versions":[]}}`,
			tt.generation, tt.managed))
		if got := revisionOf(text).recent(text, tt.date); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}
