package why

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"unsafe"

	"sluice/proxy/clients"
)

// TestRingIsBounded adds requests of long texts.
func TestRingIsBounded(t *testing.T) {
	r, long := &Ring{}, strings.Repeat("x", 5000)
	q := &Request{Reason: "any-version", Verb: "LIST", User: long, Agent: long, Resource: long}
	for outcome := range clients.Outcomes {
		for i := range 4 * perOutcome {
			q.Known = i%2 == 0
			r.Add(clients.Outcome(outcome), q)
		}
	}
	size := int(unsafe.Sizeof(*r))
	for outcome := range r.kept {
		for _, k := range r.kept[outcome] {
			size += cap(k) * int(unsafe.Sizeof(k[0]))
			for _, s := range k {
				size += int(unsafe.Sizeof(*s)) + len(s.Verb+s.User+s.Agent+s.Resource+s.Version+s.Group)
			}
		}
	}
	if size > 2<<20 {
		t.Errorf("%d bytes", size)
	}
	if all := r.Last(clients.Served, nil, true); len(all) != perOutcome+ofStrangers {
		t.Errorf("%d requests", len(all))
	}
}

// TestAPollerPushesOutItsOwnRequests once it has a quarter of them and others come.
func TestAPollerPushesOutItsOwnRequests(t *testing.T) {
	r := &Ring{}
	add := func(user string, n int) {
		for range n {
			r.Add(clients.Passed, &Request{Known: true, User: user})
		}
	}
	add("poller", 10*perOutcome)
	for i := range perOutcome - perOutcome/4 {
		add(fmt.Sprintf("user-%03d", i), 1)
	}
	add("poller", 10*perOutcome)
	all := r.Last(clients.Passed, nil, true)
	if own := r.Last(clients.Passed, url.Values{"user": {"poller"}}, true); len(own) != perOutcome/4 || len(all) != perOutcome {
		t.Errorf("%d of %d requests are of the poller", len(own), len(all))
	}
	if own := r.Last(clients.Passed, url.Values{"user": {"user-000"}}, true); len(own) != 1 {
		t.Errorf("the first of the others is gone")
	}
}

// TestRingShowsNamesOnlyToWhoMaySeeThem.
func TestRingShowsNamesOnlyToWhoMaySeeThem(t *testing.T) {
	r := &Ring{}
	r.Add(clients.Passed, &Request{
		Code: 200, Reason: "small-read", Exists: true, Known: true, Verb: "LIST", User: "jane", Agent: "kubectl", Resource: "deployments", Version: "v1", Group: "apps",
	})
	if seen := r.Last(clients.Passed, nil, false)[0]; seen.User != clients.Hidden || seen.Agent != clients.Hidden || seen.Resource != "deployments.v1.apps" {
		t.Errorf("%+v", seen)
	}
	if seen := r.Last(clients.Passed, nil, true)[0]; seen.User != "jane" || seen.Agent != "kubectl" || seen.Outcome != "passed" {
		t.Errorf("%+v", seen)
	}
	r.Add(clients.Refused, &Request{Code: 401, Verb: "LIST", Agent: "curl", Resource: "pods"})
	if seen := r.Last(clients.Refused, nil, true)[0]; seen.User != "nobody" || seen.Agent != clients.Hidden || seen.Resource != clients.Hidden {
		t.Errorf("a stranger: %+v", seen)
	}
}
