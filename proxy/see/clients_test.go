package see

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/proxy/clients"
	"sluice/proxy/why"
)

// lists counts n served lists of a resource by a user, each of so many bytes of JSON.
func (p *process) lists(user, resource string, n int, bytes int64) {
	for range n {
		p.clients.Add(&clients.Use{
			Key:  clients.Key{User: user, Agent: "client/v1.0", Version: "v1", Resource: resource, Namespace: clients.AllNamespaces},
			Verb: clients.List, Outcome: clients.Served, Ended: true, Encoded: bytes, Sent: bytes, Format: clients.InJSON,
			Address: "198.51.100.7",
		})
	}
}

var shownUser = regexp.MustCompile(`<th scope="row" class="text"><a href="/clients\?client=[0-9a-z]+">([^<]*)<`)

// users returns the users of a page's rows, in order.
func (p *process) users(t *testing.T, path string) (all []string) {
	t.Helper()
	for _, found := range shownUser.FindAllStringSubmatch(p.get(t, path).Body.String(), -1) {
		all = append(all, found[1])
	}
	return all
}

func TestClientsAreSortedAndFiltered(t *testing.T) {
	p := newProcess(true)
	p.lists("jane", "pods", 1, 50e6)
	p.lists("joe", "configmaps", 1000, 1000)
	p.lists("<script>", "pods", 2, 10e6)
	for path, want := range map[string]string{
		"/clients":                        "[jane joe &lt;script&gt;]",
		"/clients?by=bytes":               "[jane &lt;script&gt; joe]",
		"/clients?by=lists":               "[joe &lt;script&gt; jane]",
		"/clients?by=lists&resource=pods": "[&lt;script&gt; jane]",
		"/clients?user=jo":                "[joe]",
		"/clients?ns=payroll":             "[]",
		"/clients?by=nothing":             "[jane joe &lt;script&gt;]",
	} {
		if got := fmt.Sprint(p.users(t, path)); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	for i := range 220 {
		p.lists(fmt.Sprintf("user-%03d", i), "pods", 1, 1000)
	}
	if n := len(p.users(t, "/clients?by=lists")); n != mostRows {
		t.Errorf("%d rows on a page", n)
	}
	const more = `23 more rows are in the <a href="/see/v1alpha1/clients?by=lists">JSON</a>`
	if page := p.get(t, "/clients?by=lists").Body.String(); !strings.Contains(page, more) {
		t.Errorf("no %s", more)
	}
	const sorted = `<a href="/clients?by=cost&amp;user=user">Cost</a>`
	if page := p.get(t, "/clients?by=lists&user=user").Body.String(); !strings.Contains(page, sorted) {
		t.Errorf("no %s in\n%s", sorted, page)
	}
}

func TestClientPageShowsRequestsAndWatches(t *testing.T) {
	p := newProcess(true)
	p.lists("jane", "pods", 1, 50e6)
	w := p.clients.Open(clients.WatchFacts{
		Key: clients.Key{User: "jane", Agent: "client/v1.0", Version: "v1", Resource: "secrets"}, Address: "192.0.2.7", Version: "237118",
		Reason: "excluded",
	})
	defer w.Close()
	w.Follow(func() clients.Lag { return clients.Lag{Events: 5417, Oldest: 2 * time.Second} })
	var list clients.ClientList
	if err := json.Unmarshal(p.get(t, "/see/v1alpha1/clients?resource=pods").Body.Bytes(), &list); err != nil {
		t.Fatal(err)
	}
	if list.Kind != "ClientList" || len(list.Items) != 1 || list.Tracked != 2 {
		t.Fatalf("%+v", list)
	}
	page := p.get(t, "/clients?client="+list.Items[0].Client).Body.String()
	for _, want := range []string{"jane · client/v1.0", "data-label=\"served\">1<", "5417", "192.0.2.7", "198.51.100.7", "237118",
		"the apiserver", "excluded", "cache.exclude"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page of the client has no %q", want)
		}
	}
	var watches clients.OpenWatchList
	if err := json.Unmarshal(p.get(t, "/see/v1alpha1/watches?user=jane").Body.Bytes(), &watches); err != nil {
		t.Fatal(err)
	}
	if len(watches.Items) != 1 || *watches.Items[0].BehindEvents != 5417 || *watches.Items[0].WaitingSeconds != 2 || watches.Items[0].PassedBecause != "excluded" {
		t.Errorf("%+v", watches)
	}
	if code := p.get(t, "/clients?client=nobody").Code; code != http.StatusNotFound {
		t.Errorf("an unknown client: %d", code)
	}
}

// 50 equal rows help nobody.
func TestWatchesAreGroupedAndTellHowTheLastEnded(t *testing.T) {
	p := newProcess(true)
	for i := range 50 {
		w := p.clients.Open(clients.WatchFacts{
			Key: clients.Key{User: "jane", Agent: "client/v1.0", Version: "v1", Resource: "secrets"}, Reason: "excluded",
		})
		defer w.Close()
		w.Follow(func() clients.Lag { return clients.Lag{Events: i, Oldest: time.Duration(i) * time.Second} })
	}
	ring := new(why.Ring)
	p.options.Kept = ring
	ring.Add(clients.Failed, &why.Request{
		Verb: "WATCH", User: "joe", Agent: "client/v1.0", Known: true, Exists: true, Version: "v1", Resource: "pods", End: "client-stalled",
	})
	ring.Add(clients.Served, &why.Request{Verb: "LIST", User: "zoe", Known: true})
	page := p.get(t, "/watches").Body.String()
	if users := p.users(t, "/watches"); len(users) != 1 {
		t.Errorf("rows of %v", users)
	}
	for _, want := range []string{`"open">50<`, `"behind">49<`, "excluded", "joe", "pods.v1", "client-stalled"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	if strings.Contains(page, "zoe") {
		t.Error("a list is among the watches that have ended")
	}
	for end, want := range map[string]string{"": "opened", "timeout": "timeout"} { // two rows of one watch
		if row := RequestTable([]why.Seen{{Verb: "WATCH", End: end}}).Rows[0]; row[7].Text != want {
			t.Errorf("a watch that has ended as %q: %+v", end, row)
		}
	}
	if page := p.get(t, "/watches?user=nobody").Body.String(); !strings.Contains(page, "No watch is open that matches") {
		t.Error("a filter without a match says nothing")
	}
}

func TestClientsHaveNoNamesWhereTheyAreOff(t *testing.T) {
	p := newProcess(false)
	p.lists("jane", "pods", 1, 50e6)
	id := p.clients.List(false).Items[0].Client
	for _, path := range []string{"/", "/limits", "/clients", "/clients?client=" + id, "/watches", "/see/v1alpha1/status", "/see/v1alpha1/clients", "/see/v1alpha1/watches"} {
		w := p.get(t, path)
		if w.Code != http.StatusOK || strings.Contains(w.Body.String(), "jane") || strings.Contains(w.Body.String(), "client/v1.0") || strings.Contains(w.Body.String(), "canary") {
			t.Errorf("%s: %d, with the name", path, w.Code)
		}
	}
	if !strings.Contains(p.get(t, "/clients").Body.String(), "client "+id) {
		t.Error("the row has no id")
	}
}

// What is saved follows from the metrics, also while those of a resource are deleted.
func TestSavingsAreOfTheLastMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProcess(true)
		avoided := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sluice_avoided_upstream_cpu_seconds_total"}, []string{"resource"})
		spent := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sluice_reviews_total"}, []string{"result"})
		p.registry.MustRegister(avoided, spent)
		avoided.WithLabelValues("pods").Add(1000)
		avoided.WithLabelValues("secrets").Add(1000)
		p.sample(true)
		time.Sleep(ratesOver)
		avoided.WithLabelValues("pods").Add(ratesOver.Seconds() * 2)
		avoided.DeleteLabelValues("secrets")
		spent.WithLabelValues("positive").Add(ratesOver.Seconds() * 10)
		cells := p.cells(t, "/")
		if cells["cores"] != "at least 2.0" || cells["cores spent for it"] != "at most 0.010" {
			t.Errorf("saved %q, spent %q", cells["cores"], cells["cores spent for it"])
		}
	})
}
