package see

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"sluice/proxy/clients"
	"sluice/proxy/why"
)

// clientsView is the content of the pages of clients, watches and requests.
type clientsView struct {
	*clients.ClientList
	Client   *clients.Row // of the page of one client
	Table    *Table
	Watching *Table
	Ended    *Table // watches, the last first
	Query    url.Values
	Names    bool
}

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

// selected returns the items of a list that have the texts of a query.
func selected[T any](all []T, q url.Values, texts func(*T) map[string]string) []T {
	return slices.DeleteFunc(all, func(item T) bool {
		for name, text := range texts(&item) {
			if !strings.Contains(text, q.Get(name)) {
				return true
			}
		}
		return false
	})
}

// clientList returns the rows that a query selects, in its order.
func (s *pages) clientList(q url.Values) *clients.ClientList {
	l := s.options.Clients.List(s.options.Names)
	l.Items = selected(l.Items, q, func(r *clients.Row) map[string]string {
		return map[string]string{"client": r.Client, "user": r.User, "agent": r.Agent, "resource": r.Resource, "ns": r.Namespace}
	})
	sortBy(l.Items, q.Get("by"))
	return l
}

// sortBy sorts rows by an order, if it is one.
func sortBy(rows []clients.Row, by string) {
	if value := orders[by]; value != nil {
		slices.SortStableFunc(rows, func(a, b clients.Row) int { return cmp.Compare(value(&b), value(&a)) })
	}
}

// MergedClients adds the rows of several replicas.
func MergedClients(lists []*clients.ClientList, by string) *clients.ClientList {
	rows, at := []clients.Row{}, map[[4]string]int{}
	for _, l := range lists {
		for _, r := range l.Items {
			key := [4]string{nameOf(r.Client, r.User), r.Agent, r.Resource, r.Namespace}
			if i, known := at[key]; known {
				rows[i].Plus(&r)
				continue
			}
			at[key] = len(rows)
			rows = append(rows, r)
		}
	}
	sortBy(rows, by)
	lists[0].Items = rows
	return lists[0]
}

// WatchList is the open watches, and those that have ended lately.
type WatchList struct {
	*clients.OpenWatchList
	Ended []why.Seen `json:"ended"` // the last first
}

// watchList returns the watches that a query selects.
func (s *pages) watchList(q url.Values) *WatchList {
	l := &WatchList{OpenWatchList: s.openList(q)}
	if s.options.Kept != nil {
		ended := url.Values{"ended": {"1"}, "user": q["user"], "resource": q["resource"]}
		for outcome := range clients.Outcomes {
			l.Ended = append(l.Ended, s.options.Kept.Last(clients.Outcome(outcome), ended, s.options.Names)...)
		}
		l.Ended = why.Newest(l.Ended, mostRows)
	}
	return l
}

// openList returns the open watches that a query selects.
func (s *pages) openList(q url.Values) *clients.OpenWatchList {
	l := s.options.Clients.Watches(s.options.Names)
	l.Items = selected(l.Items, q, func(w *clients.Watching) map[string]string {
		return map[string]string{"client": w.Client, "user": w.User, "resource": w.Resource}
	})
	return l
}

// slow returns how many open watches have not accepted an event for a second.
func (s *pages) slow() (n float64) {
	if s.options.Clients == nil {
		return 0
	}
	for _, w := range s.openList(nil).Items {
		if w.WaitingSeconds != nil && *w.WaitingSeconds >= 1 {
			n++
		}
	}
	return n
}

// newClientsView returns the page of the rows that a query selects, with the watches of one client; nil without that client.
func (s *pages) newClientsView(q url.Values) *clientsView {
	l := s.clientList(q)
	v := &clientsView{ClientList: l, Query: q, Names: s.options.Names}
	if q.Has("client") {
		if len(l.Items) == 0 {
			return nil
		}
		v.Client, v.Watching = &l.Items[0], WatchTable(s.openList(q), false).without(2).first("/see/v1alpha1/watches?"+q.Encode())
		v.Table = ClientTable(l, q.Get("by")).without(2).first("/see/v1alpha1/clients?" + q.Encode())
		return v
	}
	v.Table = ClientTable(l, q.Get("by")).Narrow().first("/see/v1alpha1/clients?" + q.Encode())
	for i, c := range v.Table.Columns {
		if c.By != "" {
			sorted := maps.Clone(q)
			sorted.Set("by", c.By)
			v.Table.Columns[i].URL = "/clients?" + sorted.Encode()
		}
	}
	return v
}

// newWatchesView returns the page of the open watches that a query selects, and of those that have ended.
func (s *pages) newWatchesView(q url.Values) *clientsView {
	l := s.watchList(q)
	return &clientsView{
		ClientList: &clients.ClientList{At: l.At}, Query: q, Names: s.options.Names, Ended: RequestTable(l.Ended),
		Table: WatchTable(l.OpenWatchList, false).Narrow().first("/see/v1alpha1/watches?" + q.Encode()),
	}
}

// clients serves a page that a function makes of the request; it returns nil if there is no such page.
func (s *pages) clients(of func(*http.Request) *clientsView) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c := of(r)
		if c == nil {
			http.NotFound(w, r)
			return
		}
		s.write(w, &view{Page: strings.TrimPrefix(r.URL.Path, "/"), Clients: c})
	}
}

// answer serves a list as JSON.
func answer[T any](list func(url.Values) T) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		writeJSON(w, list(r.URL.Query()))
	}
}
