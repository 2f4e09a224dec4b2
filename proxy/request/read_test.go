package request

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadIsWhatTheRequestSelects(t *testing.T) {
	type result struct{ Resource, Namespace, Name, Labels, Fields string }
	for line, want := range map[string]result{
		"/api/v1/pods":                                    {"pods", "", "", "", ""},
		"/api/v1/namespaces/ns/pods":                      {"pods", "ns", "", "", ""},
		"/api/v1/namespaces/ns/pods/p":                    {"pods", "ns", "p", "", ""},
		"/api/v1/namespaces/ns/pods/p?labelSelector=a%3D": {"pods", "ns", "p", "", ""}, // a get has no selectors
		"/api/v1/namespaces/ns/pods?labelSelector=b,a&fieldSelector=spec.x%3D1": {"pods", "ns", "", "a,b", "spec.x=1"},
		"/api/v1/pods?watch=1&fieldSelector=metadata.name%3Dp":                  {"pods", "", "", "", "metadata.name=p"},
		"/api/v1/namespaces/ns":              {"namespaces", "", "ns", "", ""},
		"/api/v1/namespaces":                 {"namespaces", "", "", "", ""},
		"/api/v1/watch/namespaces/ns":        {"namespaces", "", "ns", "", "metadata.name=ns"},
		"/api/v1/watch/namespaces/ns/pods/p": {"pods", "ns", "p", "", "metadata.name=p"},
		"/api/v1/watch/namespaces/ns/pods?labelSelector=a&fieldSelector=spec.x=1": {"pods", "ns", "", "a", "spec.x=1"},
		"/apis/ex.io/v1/namespaces": {"namespaces", "", "", "", ""},
	} {
		read, err := parsed(t, "GET "+line, nil).Read()
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		got := result{read.Resource, read.Namespace, read.Name, read.Labels.String(), read.Fields.String()}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", line, diff)
		}
	}
}

// Access to one object must not be enough where the apiserver reviews access to all.
func TestRequiredNameIsTheApiservers(t *testing.T) {
	for line, want := range map[string]string{
		"/api/v1/namespaces/ns/pods/p":                                     "p",
		"/api/v1/pods?fieldSelector=metadata.name%3Dp":                     "p",
		"/api/v1/pods?watch=1&fieldSelector=metadata.name%3Dp":             "p",
		"/api/v1/pods?fieldSelector=metadata.name!%3Dp":                    "",
		"/api/v1/pods?fieldSelector=metadata.name%3Da/b":                   "",
		"/api/v1/watch/namespaces/ns/pods/p":                               "p",
		"/api/v1/watch/namespaces/ns/pods?fieldSelector=metadata.name%3Dp": "",
	} {
		read, err := parsed(t, "GET "+line, nil).Read()
		if err != nil || read.RequiredName() != want {
			t.Errorf("%s: %+v, %v", line, read, err)
		}
	}
}

// The last segment of such a path can be a namespace or a name. Access to the one must not allow
// reading the other.
func TestReadOfAnAmbiguousPathFails(t *testing.T) {
	for _, path := range []string{"/apis/ex.io/v1/namespaces/ns", "/apis/ex.io/v1/watch/namespaces/ns"} {
		if read, err := parsed(t, "GET "+path, nil).Read(); !errors.Is(err, ErrAmbiguousScope) {
			t.Errorf("%s: %+v, %v", path, read, err)
		}
	}
}

func TestReadOfALargeSelectorFails(t *testing.T) {
	terms := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprint("a", i))
		}
		return strings.Join(all, ",")
	}
	for _, row := range []struct {
		query string
		fails bool
	}{
		{"labelSelector=" + terms(maxRequirements), false},
		{"labelSelector=" + terms(maxRequirements+1), true},
		{"labelSelector=" + terms(maxRequirements) + "&fieldSelector=spec.x%3D1", true},
		{"labelSelector=a=" + strings.Repeat("x", maxSelectorBytes), true},
		{"labelSelector=a=" + strings.Repeat("x", maxSelectorBytes-2), false},
		{"shardSelector=" + strings.Repeat("x", maxShardSelectorBytes), false},
		{"shardSelector=" + strings.Repeat("x", maxShardSelectorBytes+1), true},
		{"labelSelector=a+in+(" + strings.Repeat("x,", 3000) + "x)", false}, // one requirement
		{"labelSelector=b+in+(x,y)," + terms(maxRequirements-1), false},
		{"labelSelector=b+in+(x,y)," + terms(maxRequirements), true},
		{"labelSelector=!" + strings.Repeat(",!", maxRequirements), true}, // it is not parsed
	} {
		if _, err := parsed(t, "GET /api/v1/pods?"+row.query, nil).Read(); errors.Is(err, ErrLargeSelector) != row.fails {
			t.Errorf("%.60s: %v", row.query, err)
		}
	}
}

// Callers are not authenticated yet when a request is parsed. The apiserver's parser makes several
// allocations for each requirement of a selector.
func TestParseDoesNotParseSelectors(t *testing.T) {
	r := read(t, "GET /api/v1/pods?labelSelector="+strings.Repeat("a,", 400_000)+"a&fieldSelector="+strings.Repeat("a%3Db,", 1000)+"a%3Db")
	if n := testing.AllocsPerRun(3, func() { _, _ = Parse(r) }); n > 100 {
		t.Errorf("%v allocations", n)
	}
	info, err := Parse(r)
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(3, info.ParseName); n > 0 {
		t.Errorf("%v allocations for the name", n)
	}
}
