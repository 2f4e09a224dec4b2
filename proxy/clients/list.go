package clients

import (
	"cmp"
	"slices"
	"time"
)

// Row has the requests of one client for one resource, as JSON and on pages.
type Row struct {
	Client    string `json:"client"` // names user and agent, in the URL of the client's page
	User      string `json:"user"`   // empty for callers that are not authenticated
	Agent     string `json:"agent"`
	Resource  string `json:"resource"`
	Namespace string `json:"namespace"`
	Address   string `json:"address"` // from which it last came

	Totals
	Recent         Recent  `json:"recent"`
	PassedBecause  string  `json:"passedBecause"`  // the most frequent reason
	RefusedBecause string  `json:"refusedBecause"` // the same
	Watches        int     `json:"watches"`        // open now
	BehindEvents   int     `json:"behindEvents"`   // of the slowest of them
	BehindSeconds  float64 `json:"behindSeconds"`  // the same
}

// Plus adds the counts of another row.
func (r *Row) Plus(o *Row) {
	r.Recent.Plus(o.Recent)
	r.Watches += o.Watches
	r.BehindEvents, r.BehindSeconds = max(r.BehindEvents, o.BehindEvents), max(r.BehindSeconds, o.BehindSeconds)
	r.SentBytes += o.SentBytes
	r.WouldCost, r.Cost = r.WouldCost+o.WouldCost, r.Cost+o.Cost
	all := map[string]map[string]uint64{} // of its own: rows are copied
	for _, requests := range []map[string]map[string]uint64{r.Requests, o.Requests} {
		for verb, of := range requests {
			if all[verb] == nil {
				all[verb] = map[string]uint64{}
			}
			for outcome, n := range of {
				all[verb][outcome] += n
			}
		}
	}
	r.Requests = all
}

// Totals are the counts since a time.
type Totals struct {
	// Requests are those that have ended, by verb (get, list, watch, other) and outcome (served, passed, refused, failed).
	Requests  map[string]map[string]uint64 `json:"requests"`
	SentBytes uint64                       `json:"sentBytes"`
	WouldCost float64                      `json:"wouldCostSeconds"` // of the apiserver's CPU, of served requests
	Cost      float64                      `json:"costSeconds"`      // the same, of passed requests
}

// Count returns the number of requests with an outcome, of all verbs.
func (t *Totals) Count(outcome string) (n uint64) {
	for _, of := range t.Requests {
		n += of[outcome]
	}
	return n
}

// Recent are rates of the last five to six minutes, or since the row exists, but at least of one minute.
type Recent struct {
	Seconds   float64 `json:"seconds"`
	Lists     float64 `json:"listsPerSecond"`
	Sent      float64 `json:"sentBytesPerSecond"`
	WouldCost float64 `json:"wouldCostCores"`
	Cost      float64 `json:"costCores"`
}

// Plus adds the rates of another row.
func (r *Recent) Plus(o Recent) {
	r.Lists += o.Lists
	r.Sent += o.Sent
	r.WouldCost += o.WouldCost
	r.Cost += o.Cost
}

// ClientList has the counts of a Table, the heaviest rows first.
type ClientList struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	At         time.Time `json:"at"`
	Since      time.Time `json:"since"`
	Prices     string    `json:"prices"` // of which apiserver the estimates are
	Tracked    int       `json:"tracked"`
	Items      []Row     `json:"items"`
	Rest       Totals    `json:"rest"` // everything else: the counts of rows that have made room
	// RestWatches are the open watches of everything else.
	RestWatches int `json:"restWatches"`
}

// OpenWatchList is the open watches, those that are furthest behind first.
type OpenWatchList struct {
	APIVersion string     `json:"apiVersion"`
	Kind       string     `json:"kind"`
	At         time.Time  `json:"at"`
	Items      []Watching `json:"items"`
}

// Watching is one open watch.
type Watching struct {
	Client         string   `json:"client"`
	User           string   `json:"user"`
	Agent          string   `json:"agent"`
	Address        string   `json:"address"`
	Resource       string   `json:"resource"`
	Namespace      string   `json:"namespace"`
	Selects        string   `json:"selects"`
	AgeSeconds     float64  `json:"ageSeconds"`
	FromVersion    string   `json:"fromVersion"`
	Source         string   `json:"source"`        // cache or upstream
	PassedBecause  string   `json:"passedBecause"` // empty if it does not pass
	BehindEvents   *int     `json:"behindEvents"`  // null if it is not known
	WaitingSeconds *float64 `json:"waitingSeconds"`
}

// APIVersion is of the lists.
const APIVersion = "sluice/v1alpha1"

// Hidden stands for a name that is not shown.
const Hidden = "…"

// List returns all rows. Without names, it has the ids of clients instead.
func (t *Table) List(names bool) *ClientList {
	now := t.now()
	l := &ClientList{
		APIVersion: APIVersion, Kind: "ClientList", At: t.start.Add(now), Since: t.start, Prices: PricesOf, Items: []Row{},
	}
	var rest counts
	watches := t.slowest()
	t.each(func(s *shard) {
		rest.plus(&s.rest)
		for _, r := range s.rows {
			l.Items = append(l.Items, t.view(r, watches[r.Key], now))
			delete(watches, r.Key)
		}
	})
	for _, of := range watches {
		l.RestWatches += of.open
	}
	l.Rest, l.Tracked = rest.view(), len(l.Items)
	slices.SortFunc(l.Items, func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.Recent.WouldCost+b.Recent.Cost, a.Recent.WouldCost+a.Recent.Cost), cmp.Compare(a.User, b.User),
			cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Namespace, b.Namespace))
	})
	for i := range l.Items {
		if r := &l.Items[i]; !names {
			r.User, r.Agent, r.Address, r.Namespace = Hidden, Hidden, Hidden, hidden(r.Namespace)
		}
	}
	return l
}

// hidden hides the name of a namespace.
func hidden(namespace string) string {
	if namespace == "" || namespace == AllNamespaces || namespace == ByNode {
		return namespace
	}
	return Hidden
}

// view returns a copy of a row. The caller must hold the mutex of its shard.
func (t *Table) view(r *row, w watching, now time.Duration) Row {
	return Row{
		Client: t.id(r.Key), User: r.User, Agent: r.Agent, Resource: r.resource(), Namespace: r.Namespace, Address: r.address,
		Totals:        r.counts.view(),
		PassedBecause: r.passed.top(), RefusedBecause: r.refused.top(), Watches: w.open,
		BehindEvents: w.slowest.Events, BehindSeconds: w.slowest.Oldest.Seconds(),
		Recent: r.rates(now),
	}
}

func (c *counts) view() Totals {
	t := Totals{
		Requests: map[string]map[string]uint64{}, SentBytes: c.sent,
		WouldCost: c.wouldCost.Seconds(), Cost: c.passedCost.Seconds(),
	}
	for v, of := range c.requests {
		for o, n := range of {
			if n == 0 {
				continue
			}
			if t.Requests[verbNames[v]] == nil {
				t.Requests[verbNames[v]] = map[string]uint64{}
			}
			t.Requests[verbNames[v]][Outcomes[o]] = n
		}
	}
	return t
}

// watching are the sums of the open watches of a row.
type watching struct {
	open    int
	slowest Lag
}

// open returns the open watches. How far one is behind is found out without the mutex of its shard, since it takes others.
func (t *Table) open() (all []*OpenWatch) {
	t.each(func(s *shard) {
		for w := range s.watches {
			all = append(all, w)
		}
	})
	return all
}

// slowest returns how many watches are open, and how far the slowest is behind, by row.
func (t *Table) slowest() map[Key]watching {
	all := map[Key]watching{}
	for _, w := range t.open() {
		of := all[w.Key]
		of.open++
		if lag := w.behind(); lag != nil && lag.Oldest > of.slowest.Oldest {
			of.slowest = *lag
		}
		all[w.Key] = of
	}
	return all
}

// Watches returns all open watches. Without names, it has the ids of clients instead.
func (t *Table) Watches(names bool) *OpenWatchList {
	now := t.now()
	l := &OpenWatchList{APIVersion: APIVersion, Kind: "OpenWatchList", At: t.start.Add(now), Items: []Watching{}}
	for _, w := range t.open() {
		v := Watching{
			Client: t.id(w.Key), User: w.User, Agent: w.Agent, Address: w.Address, Resource: w.resource(), Namespace: w.Namespace,
			Selects: w.Selects, AgeSeconds: (now - w.opened).Seconds(), FromVersion: w.Version, Source: "upstream",
			PassedBecause: w.Reason,
		}
		if w.Cached {
			v.Source, v.PassedBecause = "cache", ""
		}
		if lag := w.behind(); lag != nil {
			v.BehindEvents, v.WaitingSeconds = &lag.Events, new(lag.Oldest.Seconds())
		}
		if !names {
			v.User, v.Agent, v.Address, v.Namespace = Hidden, Hidden, Hidden, hidden(v.Namespace)
		}
		l.Items = append(l.Items, v)
	}
	l.Sort()
	return l
}

// Sort sorts the watches, those that are furthest behind first.
func (l *OpenWatchList) Sort() {
	slices.SortFunc(l.Items, func(a, b Watching) int {
		return cmp.Or(cmp.Compare(b.waiting(), a.waiting()), cmp.Compare(b.AgeSeconds, a.AgeSeconds), cmp.Compare(a.Client, b.Client))
	})
}

func (w *Watching) waiting() float64 { return *cmp.Or(w.WaitingSeconds, new(0.0)) }
