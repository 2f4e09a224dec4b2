package see

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"sluice/proxy/clients"
	"sluice/proxy/message"
	"sluice/proxy/why"
)

// clientsView is the content of the pages of clients.
type clientsView struct {
	*clients.ClientList
	Client   *clients.Row // of the page of one client
	Rows     []clients.Row
	Watching []clients.Watching // of one client
	Groups   []clients.WatchGroup
	Ended    []why.Seen       // watches, the last first
	Total    clients.Recent   // the same
	Advice   []message.Advice // the same: for reasons why its requests pass or are refused
	Columns  []column
	Query    url.Values
	Next     string // the URL of the next rows; empty if there are none
	Names    bool
}

// column is a column by which rows can be sorted.
type column struct {
	Title, By, URL string
	Sorted         bool
}

// rowsOfPage bounds the rows of a page of clients. JSON has all of them.
const rowsOfPage = 50

// orders are the values by which rows can be sorted, the largest first.
var orders = map[string]func(*clients.Row) float64{
	"would-cost": func(r *clients.Row) float64 { return r.Recent.WouldCost },
	"cost":       func(r *clients.Row) float64 { return r.Recent.Cost },
	"lists":      func(r *clients.Row) float64 { return r.Recent.Lists },
	"bytes":      func(r *clients.Row) float64 { return r.Recent.Sent },
	"watches":    func(r *clients.Row) float64 { return float64(r.Watches) },
	"behind":     func(r *clients.Row) float64 { return r.BehindSeconds },
	"refused":    func(r *clients.Row) float64 { return float64(r.Count("refused")) },
	"passed": func(r *clients.Row) float64 {
		if r.PassedBecause == "" {
			return 0
		}
		return 1 + float64(r.Count("passed")) // a watch counts when it ends
	},
}

// kept is a list that is made again when it is not fresh: however many readers there are, it seldom holds up requests.
type kept[T any] struct {
	mu   sync.Mutex // guards the fields below; held while the list is made
	at   time.Time
	list T
}

// get returns the list, which the caller must not change.
func (k *kept[T]) get(list func() T) T {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.at.IsZero() || time.Since(k.at) >= fresh {
		k.list, k.at = list(), time.Now()
	}
	return k.list
}

// clientLists are the costs of clients, and their open watches.
type clientLists struct {
	table       *clients.Table
	names       bool // are shown
	clientRows  kept[*clients.ClientList]
	openWatches kept[*clients.OpenWatchList]
}

// allClients returns a copy of all rows.
func (all *clientLists) allClients() *clients.ClientList {
	l := *all.clientRows.get(func() *clients.ClientList { return all.table.List(all.names) })
	l.Items = slices.Clone(l.Items)
	return &l
}

// allWatches returns a copy of all open watches.
func (all *clientLists) allWatches() *clients.OpenWatchList {
	l := *all.openWatches.get(func() *clients.OpenWatchList { return all.table.Watches(all.names) })
	l.Items = slices.Clone(l.Items)
	return &l
}

// clientList returns the rows that a query selects, in its order.
func (all *clientLists) clientList(q url.Values) *clients.ClientList {
	l := all.allClients()
	without := func(name string, of func(*clients.Row) string) {
		if want := q.Get(name); want != "" {
			l.Items = slices.DeleteFunc(l.Items, func(r clients.Row) bool { return !strings.Contains(of(&r), want) })
		}
	}
	without("client", func(r *clients.Row) string { return r.Client })
	without("user", func(r *clients.Row) string { return r.User })
	without("agent", func(r *clients.Row) string { return r.Agent })
	without("resource", func(r *clients.Row) string { return r.Resource })
	without("ns", func(r *clients.Row) string { return r.Namespace })
	if value := orders[q.Get("by")]; value != nil {
		slices.SortStableFunc(l.Items, func(a, b clients.Row) int { return cmp.Compare(value(&b), value(&a)) })
	}
	return l
}

// watchList returns the open watches that a query selects.
func (all *clientLists) watchList(q url.Values) *clients.OpenWatchList {
	l := all.allWatches()
	for name, of := range map[string]func(*clients.Watching) string{
		"client":   func(w *clients.Watching) string { return w.Client },
		"user":     func(w *clients.Watching) string { return w.User },
		"resource": func(w *clients.Watching) string { return w.Resource },
	} {
		if want := q.Get(name); want != "" {
			l.Items = slices.DeleteFunc(l.Items, func(w clients.Watching) bool { return !strings.Contains(of(&w), want) })
		}
	}
	return l
}

// newClientsView returns a page of rows, from the one with a number on.
func (l *clientLists) newClientsView(q url.Values) *clientsView {
	v := &clientsView{ClientList: l.clientList(q), Query: q, Names: l.names}
	link := func(key, value string) string {
		changed := url.Values{}
		for _, k := range []string{"user", "agent", "resource", "ns", "by"} {
			if q.Get(k) != "" {
				changed.Set(k, q.Get(k))
			}
		}
		changed.Set(key, value)
		return "/clients?" + changed.Encode()
	}
	for _, c := range []column{
		{Title: "Lists/s", By: "lists"}, {Title: "Watches", By: "watches"}, {Title: "Behind", By: "behind"},
		{Title: "Sent/s", By: "bytes"}, {Title: "Would cost", By: "would-cost"}, {Title: "Cost", By: "cost"},
		{Title: "Refused", By: "refused"}, {Title: "Why passed", By: "passed"},
	} {
		c.URL, c.Sorted = link("by", c.By), c.By == q.Get("by")
		v.Columns = append(v.Columns, c)
	}
	from, _ := strconv.Atoi(q.Get("after")) // else from the first
	from = min(max(from, 0), len(v.Items))
	to := min(from+rowsOfPage, len(v.Items))
	v.Rows = v.Items[from:to]
	if to < len(v.Items) {
		v.Next = link("after", strconv.Itoa(to))
	}
	return v
}

// newClientView returns the page of one client; nil if there is none.
func (l *clientLists) newClientView(id string) *clientsView {
	v := &clientsView{ClientList: l.allClients(), Names: l.names}
	v.Items = slices.DeleteFunc(v.Items, func(r clients.Row) bool { return r.Client != id })
	if len(v.Items) == 0 {
		return nil
	}
	v.Client, v.Rows = &v.Items[0], v.Items[:min(len(v.Items), mostRows)]
	var reasons []string
	for _, r := range v.Rows {
		v.Total.Plus(r.Recent)
		reasons = append(reasons, r.PassedBecause, r.RefusedBecause)
	}
	for _, w := range l.allWatches().Items {
		if w.Client == id && len(v.Watching) < mostRows {
			v.Watching = append(v.Watching, w)
			reasons = append(reasons, w.PassedBecause)
		}
	}
	v.Advice = message.Advise(reasons...)
	return v
}

// newWatchesView returns the page of the open watches that a query selects, and of those that have ended.
func (s *Sampler) newWatchesView(q url.Values) *clientsView {
	l := s.clientLists.watchList(q)
	v := &clientsView{ClientList: &clients.ClientList{At: l.At}, Query: q, Names: s.clientLists.names, Groups: l.Groups()}
	v.Groups = v.Groups[:min(len(v.Groups), mostRows)]
	if s.options.Why != nil {
		for class := range why.Classes {
			v.Ended = append(v.Ended, slices.DeleteFunc(s.options.Why.Kept.Last(class, s.options.Why.Names), func(r why.Seen) bool { return r.End == "" })...)
		}
		slices.SortStableFunc(v.Ended, func(a, b why.Seen) int { return b.At.Compare(a.At) })
		v.Ended = v.Ended[:min(len(v.Ended), mostKept)]
	}
	return v
}

// clients serves a page that a function makes of the request; it returns nil if there is no such page.
func (s *Sampler) clients(of func(*http.Request) *clientsView) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c := of(r)
		if c == nil {
			http.NotFound(w, r)
			return
		}
		page, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		v := newView(s.Facts(), page)
		v.Clients = c
		v.write(w)
	}
}

// answer serves a list as JSON.
func answer[T any](list func(url.Values) T) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		writeJSON(w, list(r.URL.Query()))
	}
}

// whoOf names a client on pages.
func whoOf(r clients.Row) string {
	switch {
	case r.User == clients.Hidden:
		return "client " + r.Client
	case r.User == "":
		return "unauthenticated · " + r.Agent
	case r.Agent == "":
		return r.User
	}
	return r.User + " · " + r.Agent
}

// cores formats CPU time of the apiserver.
func cores(v float64) string {
	switch {
	case v == 0:
		return "–"
	case v < 0.0005:
		return "<\u00a00.001"
	case v < 0.995:
		return fmt.Sprintf("%.3f", v)
	}
	return number(v)
}

// functions are the functions of templates.
var functions = map[string]any{
	"who": whoOf, "watcher": func(w clients.Watching) string {
		return whoOf(clients.Row{Client: w.Client, User: w.User, Agent: w.Agent})
	},
	"ended":   func(string) string { return guide(why.Troubleshooting + "#how-a-watch-ended") },
	"waiting": func(v *float64) string { return seconds(*v) },
	"cores":   cores, "size": size, "number": number, "seconds": seconds,
	"guide":  guide,
	"reason": func(name string) string { return guide(why.Troubleshooting + "#" + name) },
	"advice": func(reason string) string { a, _ := message.AdviceFor(reason); return a.Do },
	"bytes":  func(n uint64) string { return size(float64(n)) },
	"count":  func(n uint64) string { return count(float64(n)) },
}
