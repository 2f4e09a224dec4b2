package clients

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
)

// pods returns a served list of pods by a user.
func pods(user, agent string) *Use {
	return &Use{
		Key:  Key{User: user, Agent: agent, Version: "v1", Resource: "pods", Namespace: AllNamespaces},
		Verb: List, Outcome: Served, Ended: true, Encoded: 75_700_000, Sent: 75_700_000, Format: InJSON,
	}
}

// requests returns how many requests the rows and everything else have.
func requests(l *ClientList) (rows, rest uint64) {
	sum := func(t *Totals) (n uint64) {
		for _, outcome := range Outcomes {
			n += t.Count(outcome)
		}
		return n
	}
	for i := range l.Items {
		rows += sum(&l.Items[i].Totals)
	}
	return rows, sum(&l.Rest)
}

// A crowd of random names must neither take memory nor push the clients out that cost most.
func TestRandomNamesPushNoHeavyClientOut(t *testing.T) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	table, random := NewTable(), rand.New(rand.NewPCG(1, 2))
	text := func() string { return strings.Repeat(fmt.Sprintf("%016x", random.Uint64()), 1+random.IntN(20)) }
	const crowd = 100_000
	for i := range crowd {
		if i%100 == 0 {
			for heavy := range 5 {
				table.Add(pods(fmt.Sprintf("heavy-%d", heavy), "client"))
			}
		}
		u := &Use{Key: Key{User: text(), Agent: text(), Version: "v1", Resource: text(), Namespace: text()}, Ended: true}
		switch i % 4 {
		case 0:
			u.Key = Key{Agent: text()} // not authenticated
		case 1:
			u.User = "one"
		}
		table.Add(u)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if took := int64(after.HeapAlloc) - int64(before.HeapAlloc); took > 4<<20 {
		t.Errorf("the table takes %d bytes", took)
	}
	l := table.List(true)
	if most := numShards * rowsOfShard; l.Tracked > most {
		t.Errorf("%d rows", l.Tracked)
	}
	of := map[string]int{}
	for _, r := range l.Items {
		of[r.User]++
	}
	if of[""] > rowsUnnamed || of["one"] > rowsOfUser {
		t.Errorf("%d rows of unauthenticated callers, %d of one user", of[""], of["one"])
	}
	for i, r := range l.Items[:5] {
		if !strings.HasPrefix(r.User, "heavy-") || r.Count("served") != crowd/100 {
			t.Errorf("row %d is of %.20q with %d served", i, r.User, r.Count("served"))
		}
	}
	if rows, rest := requests(l); rows+rest != crowd+crowd/100*5 || rest == 0 {
		t.Errorf("rows have %d requests, everything else %d", rows, rest)
	}
}

// TestLongNamesStayApart, although they are cut.
func TestLongNamesStayApart(t *testing.T) {
	table, long := NewTable(), strings.Repeat("é", 200)
	for _, name := range []string{long + "a", long + "b"} {
		table.Add(&Use{Key: Key{User: name, Agent: Agent(name), Resource: name}, Ended: true})
	}
	l := table.List(true)
	for _, r := range l.Items {
		if len(r.User) > longestUser || len(r.Agent) > longestName || !utf8.ValidString(r.User+r.Agent) || !strings.Contains(r.User, "…") {
			t.Errorf("%q %q", r.User, r.Agent)
		}
	}
	if len(l.Items) != 2 || l.Items[0].User == l.Items[1].User || l.Items[0].Agent == l.Items[1].Agent {
		t.Errorf("%d rows", len(l.Items))
	}
}

func TestPricesAreThoseOfTheMeasuredLists(t *testing.T) {
	for _, tt := range []struct {
		name string
		use  Use
		want time.Duration
	}{
		{"10,000 pods as JSON", Use{Encoded: 75_700_000, Format: InJSON, Ended: true}, 647 * time.Millisecond},
		{"in gzip", Use{Encoded: 75_700_000, Sent: 4_200_000, Format: InJSON, Compressed: true, Ended: true}, 608 * time.Millisecond},
		{"passed in gzip", Use{Outcome: Passed, Source: ByApiserver, Encoded: 7_100_000, Sent: 7_100_000, Format: InJSON, Compressed: true}, 608 * time.Millisecond},
		{"100,000 pods without a match", Use{Verb: List, Scanned: 100_000}, 10 * time.Millisecond},
		{"100 events", Use{Verb: Watch, Events: 100, Encoded: 780_000, Format: InJSON}, 2500 * time.Microsecond},
		{"a streaming list", Use{Verb: Watch, Listed: 51_800_000, Encoded: 75_700_000, Format: InJSON}, 318 * time.Millisecond},
	} {
		if got := tt.use.worth().Truncate(time.Millisecond / 100); got < tt.want || got > tt.want+time.Millisecond {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// What passes costs the apiserver no more than it took.
func TestPassedRequestCostsItsDurationAtMost(t *testing.T) {
	table, u := NewTable(), pods("jane", "client")
	u.Outcome, u.Source, u.Took = Passed, ByApiserver, 20*time.Millisecond
	table.Add(u)
	if r := table.List(true).Items[0]; r.Cost != 0.02 || r.WouldCost != 0 {
		t.Errorf("cost %v, would cost %v", r.Cost, r.WouldCost)
	}
}

func TestRatesAreOfTheLastMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := NewTable()
		for range 10 {
			table.Add(pods("jane", "client"))
		}
		time.Sleep(100 * time.Second)
		if r := table.List(true).Items[0].Recent; math.Abs(r.Lists-0.1) > 1e-6 || r.WouldCost < 0.0647 || r.WouldCost > 0.065 {
			t.Errorf("%+v", r)
		}
		time.Sleep(10 * time.Minute)
		if r := table.List(true).Items[0]; r.Recent.Lists != 0 || r.Count("served") != 10 {
			t.Errorf("%+v", r)
		}
	})
}

func TestNamesAreHidden(t *testing.T) {
	table := NewTable()
	u := pods("jane", "curl")
	u.Address = "192.0.2.9"
	table.Add(u)
	u.Namespace = "payroll"
	table.Add(u)
	w := table.Open(WatchFacts{Key: u.Key, Address: "192.0.2.1"})
	defer w.Close()
	l := table.List(false)
	for _, text := range []string{fmt.Sprint(l), fmt.Sprint(table.Watches(false))} {
		for _, name := range []string{"jane", "curl", "payroll", "192.0.2"} {
			if strings.Contains(text, name) {
				t.Errorf("%s is in %s", name, text)
			}
		}
	}
	if l.Items[0].Client == "" || l.Items[0].Client != l.Items[1].Client {
		t.Errorf("clients %q and %q", l.Items[0].Client, l.Items[1].Client)
	}
}

func TestAgentIsProgramAndVersion(t *testing.T) {
	for header, want := range map[string]string{
		"kubelet/v1.37.2 (linux/amd64) kubernetes/0123abc": "kubelet/v1.37",
		"argocd-application-controller/v0.0.0 (linux)":     "argocd-application-controller/v0.0",
		"python-requests/2.31.0":                           "python-requests/2.31",
		"OpenAPI-Generator/29.0.0/python":                  "OpenAPI-Generator/29.0",
		"Mozilla/5.0 (X11; Linux)":                         "Mozilla/5.0",
		"manager/v2-rc1":                                   "manager/v2",
		"curl":                                             "curl",
		"":                                                 "",
	} {
		if got := Agent(header); got != want {
			t.Errorf("%q: %q, want %q", header, got, want)
		}
	}
	for remote, want := range map[string]string{
		"192.0.2.77:1234": "192.0.2.0/24", "[2001:db8:1:2:3::4]:1": "2001:db8:1:2::/64", "[::ffff:192.0.2.77]:1": "192.0.2.0/24", "pipe": "(unknown)",
	} {
		if got := Network(remote); got != want {
			t.Errorf("%s: %s, want %s", remote, got, want)
		}
	}
}

// topOf returns the series of a metric by their users.
func topOf(t *testing.T, table *Table, names bool, metric string) map[string]float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(table.Collector(names))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, f := range families {
		if f.GetName() != metric {
			continue
		}
		for _, m := range f.GetMetric() {
			label := ""
			for _, l := range m.GetLabel() {
				if l.GetName() == "user" || l.GetName() == "hint" {
					label = l.GetValue()
				}
			}
			all[label] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return all
}

// The series of clients are of the heaviest that have a name, and come and go every five minutes at most.
func TestTopSeriesAreOfTheHeaviestForFiveMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := NewTable()
		if first := topOf(t, table, true, "sluice_top_would_cost_cores"); len(first) != 0 {
			t.Errorf("before the first request: %v", first)
		}
		for i := range 30 {
			u := pods(fmt.Sprintf("user-%02d", i), "client\xff")
			u.Encoded *= int64(i + 1)
			table.Add(u)
		}
		table.Add(&Use{Key: Key{Agent: "192.0.2.0/24"}, Verb: List, Outcome: Served, Ended: true, Encoded: 1 << 40})
		time.Sleep(time.Minute)
		first := topOf(t, table, true, "sluice_top_would_cost_cores")
		if len(first) != topClients || first["user-29"] == 0 || first["user-10"] == 0 {
			t.Errorf("the heaviest are %v", first)
		}
		late := pods("late", "client")
		late.Encoded *= 1000
		table.Add(late)
		if second := topOf(t, table, true, "sluice_top_would_cost_cores"); len(second) != topClients || second["late"] != 0 {
			t.Errorf("within five minutes they became %v", second)
		}
		if r := table.List(true).Items[0].Recent; r.Lists != 1./60 || r.Seconds != 60 {
			t.Errorf("a new client is shown as %+v", r)
		}
		time.Sleep(topEvery / 2)
		table.Add(pods("user-29", "client\xff"))
		later := topOf(t, table, true, "sluice_top_would_cost_cores")
		if later["user-29"] == first["user-29"] || later["user-29"] == 0 {
			t.Errorf("the heaviest still cost %v", later)
		}
		time.Sleep(topEvery / 2)
		if third := topOf(t, table, true, "sluice_top_would_cost_cores"); third["late"] == 0 {
			t.Errorf("after five minutes they are %v", third)
		}
		if none := topOf(t, table, false, "sluice_top_would_cost_cores"); len(none) != 0 {
			t.Errorf("without names: %v", none)
		}
	})
}
