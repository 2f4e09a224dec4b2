package why

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"
)

// TestRingIsBounded adds requests of long texts: what is kept stays below a MiB, and adding allocates nothing.
func TestRingIsBounded(t *testing.T) {
	r, long := &Ring{}, strings.Repeat("x", 5000)
	q := &Request{Reason: "any-version", Verb: "LIST", User: long, Agent: long, Resource: long}
	for class := range Classes {
		for i := range 4 * perClass {
			q.Known = i%2 == 0
			r.Add(class, q)
		}
	}
	size := int(unsafe.Sizeof(*r))
	for class := range r.kept {
		for _, k := range r.kept[class] {
			size += cap(k.slots) * int(unsafe.Sizeof(slot{}))
			for i := range k.slots {
				size += cap(k.slots[i].text)
			}
		}
	}
	if size > 1<<20 {
		t.Errorf("%d bytes", size)
	}
	if n := testing.AllocsPerRun(1000, func() { r.Add(KeptServed, q) }); n != 0 {
		t.Errorf("%v allocations for a request", n)
	}
	all := r.Last(KeptServed, true)
	if len(all) != perClass+ofStrangers {
		t.Errorf("%d requests", len(all))
	}
}

// TestRingShowsNamesOnlyToWhoMaySeeThem, and finds requests by their IDs while they are kept.
func TestRingShowsNamesOnlyToWhoMaySeeThem(t *testing.T) {
	r := &Ring{}
	for i := range perClass + 1 {
		r.Add(KeptPassed, &Request{
			Code: 200, Reason: "small-read", Exists: i > 0, Known: true, Verb: "LIST", User: "jane", Agent: "kubectl", Resource: "deployments", Version: "v1",
			Group: "apps",
		})
	}
	if _, found := r.Find("passed-0", true); found {
		t.Error("a request is found that is kept no longer")
	}
	for _, id := range []string{"", "passed-", "passed--1", "failed-1", "passed-unknown-0", "passed-201", "passed-x", "x-1"} {
		if _, found := r.Find(id, true); found {
			t.Errorf("%q is found", id)
		}
	}
	seen, found := r.Find(fmt.Sprint("passed-", perClass), false)
	if !found || seen.User != Hidden || seen.Agent != Hidden || seen.Resource != "deployments.v1.apps" {
		t.Errorf("%+v", seen)
	}
	r.Add(KeptRefused, &Request{Code: 401, Verb: "LIST", Agent: "curl"})
	if seen, found := r.Find("refused-unknown-0", true); !found || seen.User != "nobody" || seen.Agent != Hidden {
		t.Errorf("a stranger: %+v", seen)
	}
	if seen, _ := r.Find("passed-1", true); seen.User != "jane" || seen.Agent != "kubectl" {
		t.Errorf("%+v", seen)
	}
}
