package see

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"time"

	"sluice/proxy/clients"
	"sluice/proxy/message"
	"sluice/proxy/why"
)

// Table is a list, the same on pages and in terminals.
type Table struct {
	Columns []Column
	Rows    [][]Cell
	More    int    // rows that first has left out
	JSON    string // which has them all
	Lines   bool   // a row is a line of text on a narrow screen
}

// Column is a column of a table.
type Column struct {
	Title  string
	Text   bool // aligned to the left
	Wide   bool // only where all columns are wanted
	Reason bool // the cells are reasons of the metrics
	Leaves int  // the order in which columns leave a narrow screen; 0 stays

	By, URL string // the order of rows for which the title asks
	Sorted  bool
}

// Cell is a text of a table, with a page to which it leads.
type Cell struct{ Text, URL string }

// clientPage is the page of a client, without its id.
const clientPage = "/clients?client="

// nothing is the text of a cell without a value.
const nothing = "–"

// add adds a row of texts.
func (t *Table) add(texts ...string) []Cell {
	row := make([]Cell, len(texts))
	for i, text := range texts {
		row[i].Text = cmp.Or(text, nothing)
		if t.Columns[i].Reason && text != "" && text != clients.RefusedByApiserver {
			row[i].URL = guide(why.Troubleshooting + "#" + text)
		}
	}
	t.Rows = append(t.Rows, row)
	return row
}

// first returns the table with as many rows as a page has. The others are in a JSON.
func (t *Table) first(json string) *Table {
	t.More, t.JSON = max(0, len(t.Rows)-mostRows), json
	t.Rows = t.Rows[:len(t.Rows)-t.More]
	return t
}

// without returns the table without its first columns.
func (t *Table) without(columns int) *Table {
	t.Columns = t.Columns[columns:]
	for i := range t.Rows {
		t.Rows[i] = t.Rows[i][columns:]
	}
	return t
}

// Narrow returns the table without wide columns.
func (t *Table) Narrow() *Table {
	n := &Table{Rows: make([][]Cell, len(t.Rows))}
	for i, c := range t.Columns {
		if c.Wide {
			continue
		}
		n.Columns = append(n.Columns, c)
		for j, row := range t.Rows {
			n.Rows[j] = append(n.Rows[j], row[i])
		}
	}
	return n
}

// Advice returns the advice about the reasons in the table.
func (t *Table) Advice() []message.Advice {
	var reasons []string
	for i, c := range t.Columns {
		for _, row := range t.Rows {
			if c.Reason {
				reasons = append(reasons, row[i].Text)
			}
		}
	}
	return message.Advise(reasons...)
}

// Table returns the table of the resources, those in trouble first.
func (f *Facts) Table() *Table {
	t := &Table{Columns: []Column{
		{Title: "Resource", Text: true}, {Title: "State", Text: true}, {Title: "Objects", Leaves: 6}, {Title: "Memory", Leaves: 3}, {Title: "Version", Leaves: 2},
		{Title: "Heard", Leaves: 4}, {Title: "Proven"}, {Title: "Reads/s", Leaves: 5}, {Title: "Served"}, {Title: "Watches"}, {Title: "Passed watches", Leaves: 1},
		{Title: "History", Wide: true}, {Title: "Mismatches", Wide: true}, {Title: "Why passed", Text: true, Reason: true, Wide: true},
	}}
	all := slices.Clone(f.Resources)
	slices.SortStableFunc(all, func(a, b Resource) int { return cmp.Compare(trouble(&b), trouble(&a)) })
	for i := range all {
		r := &all[i]
		row := t.add(r.Name, f.StateOf(r), count(r.Objects), size(r.Bytes), strconv.FormatFloat(r.Version, 'f', 0, 64), optional(r.HeardSeconds, seconds),
			optional(r.ProvenSeconds, seconds), number(r.Reads.ServedPerSec+r.Reads.PassedPerSec), served(r.Reads), count(r.Watches), count(r.PassedWatches),
			size(r.HistoryBytes), count(r.Mismatches), most(r.Passed))
		row[0].URL = "/r/" + r.Name
	}
	if o := f.Others; len(all) > 0 {
		t.add("not cached", "passed", "", "", "", "", "", number(o.ServedPerSec+o.PassedPerSec), served(o), "", "", "", "", "")
	}
	return t
}

// trouble is 1 for a resource to look at.
func trouble(r *Resource) int {
	if !r.Synced || stalled(r) || r.MismatchedSeconds != nil || r.PassedWatches > 0 {
		return 1
	}
	return 0
}

// StateOf describes the state of a resource.
func (f *Facts) StateOf(r *Resource) string {
	switch {
	case r.Forbidden:
		return "forbidden"
	case !r.Synced:
		return "filling for " + seconds(r.UnsyncedSeconds)
	case f.Upstream.Fault.State != "":
		return "any version only"
	case stalled(r):
		return "stalled"
	}
	return "served"
}

// served formats the part of reads that is served.
func served(r Reads) string {
	if all := r.ServedPerSec + r.PassedPerSec; all > 0 {
		return percent(r.ServedPerSec / all)
	}
	return nothing
}

// most returns the most frequent reason, and the first of equals.
func most(counts map[string]float64) (reason string) {
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		if counts[name] > counts[reason] {
			reason = name
		}
	}
	return reason
}

// nameOf names a caller.
func nameOf(client, user string) string {
	if user == clients.Hidden {
		return "client " + client
	}
	return cmp.Or(user, "(unauthenticated)")
}

// ClientTable returns the table of clients. Without an order each user with several rows has one for the sum, and those that
// cost most are first.
func ClientTable(l *clients.ClientList, by string) *Table {
	t := &Table{Columns: []Column{
		{Title: "User", Text: true}, {Title: "Agent", Text: true, Leaves: 4}, {Title: "Resource", Text: true}, {Title: "Namespace", Text: true, Leaves: 1},
		{Title: "Lists/s", By: "lists", Leaves: 5}, {Title: "Watches", By: "watches", Leaves: 6}, {Title: "Behind", By: "behind", Leaves: 3},
		{Title: "Sent/s", By: "bytes", Leaves: 2}, {Title: "Would cost", By: "would-cost"}, {Title: "Cost", By: "cost"}, {Title: "Refused", By: "refused"},
		{Title: "Why passed", By: "passed", Text: true, Reason: true, Leaves: 7},
		{Title: "Why refused", Text: true, Reason: true, Wide: true}, {Title: "Served", Wide: true}, {Title: "Passed", Wide: true}, {Title: "Failed", Wide: true},
		{Title: "Address", Wide: true},
	}}
	if orders[by] == nil {
		by = ""
	}
	for i := range t.Columns {
		t.Columns[i].Sorted = by != "" && by == t.Columns[i].By
	}
	items, sums, rows := slices.Clone(l.Items), map[string]*clients.Row{}, map[string]int{}
	user := func(r *clients.Row) string { return nameOf(r.Client, r.User) }
	for i := range items {
		r := &items[i]
		sum := sums[user(r)]
		if sum == nil {
			sum = &clients.Row{Client: r.Client, User: r.User, Agent: "all", Resource: "all", Namespace: "all"}
			sums[user(r)] = sum
		}
		sum.Plus(r)
		rows[user(r)]++
	}
	if by == "" {
		slices.SortStableFunc(items, func(a, b clients.Row) int {
			x, y := sums[user(&a)].Recent, sums[user(&b)].Recent
			return cmp.Or(cmp.Compare(y.Cost+y.WouldCost, x.Cost+x.WouldCost), cmp.Compare(user(&a), user(&b)))
		})
	}
	for i := range items {
		if name := user(&items[i]); by == "" && rows[name] > 1 {
			rows[name] = 0
			sum := sums[name]
			row := t.client(sum)
			row[0].URL, row[1].URL = "/clients?user="+url.QueryEscape(sum.User), ""
		}
		t.client(&items[i])
	}
	return t
}

// client adds the row of a client.
func (t *Table) client(r *clients.Row) []Cell {
	behind, outcome := "", func(of string) string { return count(float64(r.Count(of))) }
	if r.BehindEvents > 0 {
		behind = seconds(r.BehindSeconds)
	}
	row := t.add(nameOf(r.Client, r.User), r.Agent, r.Resource, r.Namespace, number(r.Recent.Lists), count(float64(r.Watches)), behind, size(r.Recent.Sent),
		cores(r.Recent.WouldCost), cores(r.Recent.Cost), outcome("refused"), r.PassedBecause, r.RefusedBecause, outcome("served"), outcome("passed"),
		outcome("failed"), r.Address)
	row[0].URL, row[1].URL = clientPage+r.Client, clientPage+r.Client
	return row
}

// WatchTable returns the table of open watches: of each one if wide, else of those of a client for a resource that are answered
// alike.
func WatchTable(l *clients.OpenWatchList, wide bool) *Table {
	t := &Table{Columns: []Column{
		{Title: "User", Text: true}, {Title: "Agent", Text: true, Leaves: 1}, {Title: "Resource", Text: true}, {Title: "Open", Leaves: 4},
		{Title: "Answered by", Text: true, Leaves: 3}, {Title: "Why passed", Text: true, Reason: true}, {Title: "Behind"}, {Title: "First waits", Leaves: 2},
		{Title: "Selects", Text: true, Wide: true}, {Title: "Age", Wide: true}, {Title: "From version", Wide: true}, {Title: "Namespace", Text: true, Wide: true},
		{Title: "Address", Wide: true},
	}}
	alike := func(w *clients.Watching) [6]string {
		client := w.Client
		if w.User != clients.Hidden { // replicas have ids of their own
			client = ""
		}
		return [...]string{client, w.User, w.Agent, w.Resource, w.Source, w.PassedBecause}
	}
	open := map[[6]string]int{}
	for _, w := range l.Items {
		open[alike(&w)]++
	}
	for _, w := range l.Items { // the slowest of each first
		n, behind := 1, ""
		if !wide {
			if n = open[alike(&w)]; n == 0 {
				continue
			}
			open[alike(&w)] = 0
		}
		if w.BehindEvents != nil {
			behind = strconv.Itoa(*w.BehindEvents)
		}
		if behind == "0" {
			w.WaitingSeconds = nil
		}
		row := t.add(nameOf(w.Client, w.User), w.Agent, w.Resource, count(float64(n)), answeredBy[w.Source], w.PassedBecause, behind,
			optional(w.WaitingSeconds, seconds), w.Selects, seconds(w.AgeSeconds), w.FromVersion, w.Namespace, w.Address)
		row[0].URL, row[1].URL = clientPage+w.Client, clientPage+w.Client
	}
	return t
}

// answeredBy names the servers of the sources.
var answeredBy = map[string]string{"cache": "the cache", "upstream": "the apiserver", "gateway": "Sluice"}

// RequestTable returns the table of the last requests.
func RequestTable(all []why.Seen) *Table {
	t := &Table{Lines: true, Columns: []Column{
		{Title: "Request", Text: true}, {Title: "Time", Leaves: 3}, {Title: "User", Text: true}, {Title: "Agent", Text: true, Leaves: 1},
		{Title: "Answered by", Text: true, Leaves: 2}, {Title: "Reason", Text: true, Reason: true}, {Title: "Code"}, {Title: "Ended", Text: true},
	}}
	for _, s := range all {
		row := t.add(s.Verb+" "+cmp.Or(s.Resource, clients.NoResource), s.At.UTC().Format(time.TimeOnly), s.User, clients.Agent(s.Agent), answeredBy[s.Source], s.Reason, fmt.Sprint(s.Code), s.End)
		switch {
		case s.End != "":
			row[7].URL = guide(why.Troubleshooting + "#how-a-watch-ended")
		case s.Verb == "WATCH": // which has a row of its own when it ends
			row[7].Text = "opened"
		}
	}
	return t
}

// Merged returns the table of several replicas: a row that is the same in all of them once, and else one for each.
func Merged(pods []string, tables []*Table) *Table {
	if len(tables) == 1 {
		return tables[0]
	}
	t := &Table{Columns: append([]Column{{Title: "Pod", Text: true}}, tables[0].Columns...)}
	var keys []string
	rows := map[string]map[string][]Cell{} // by key and pod
	for i, of := range tables {
		for _, row := range of.Rows {
			key := row[0].Text
			if rows[key] == nil {
				keys, rows[key] = append(keys, key), map[string][]Cell{}
			}
			rows[key][pods[i]] = row
		}
	}
	for _, key := range keys {
		first, same := rows[key][pods[0]], len(rows[key]) == len(pods)
		for _, row := range rows[key] {
			same = same && slices.EqualFunc(row, first, func(a, b Cell) bool { return a.Text == b.Text })
		}
		for _, pod := range pods {
			if row := rows[key][pod]; same {
				t.Rows = append(t.Rows, append([]Cell{{Text: "all"}}, row...))
				break
			} else if row != nil {
				t.Rows = append(t.Rows, append([]Cell{{Text: pod}}, row...))
			}
		}
	}
	return t
}
