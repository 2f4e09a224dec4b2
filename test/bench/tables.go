package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// The tables, as the rows of a report name them.
const (
	listTable    = "lists"
	watchTable   = "watches"
	idleTable    = "idle"
	proofTable   = "proofs"
	attackTable  = "attacks"
	crowdTable   = "crowds"
	kindsTable   = "kinds"
	syncTable    = "syncs"
	memoryTable  = "memory"
	stalledTable = "stalled watches"

	projectionTable = "projections"
)

// table is a table of the printed report.
type table struct {
	name  string
	heads string // in one line or two, with bars between the cells
	cells func(*row) []string
}

// tables are all tables in their order. A ratio of lists and watches is the apiserver over Sluice.
var tables = []table{
	{
		listTable,
		"|CPU ms/request||||first|p50/p99 ms|||MB, as||peak RSS MB||\n" +
			"|apiserver|sluice|floor|ratio|sluice|apiserver|sluice|floor|apiserver|sluice|apiserver|sluice|source",
		listCells,
	},
	{
		watchTable,
		"|CPU us/event||||clients'|||delay p50/p99 ms|||bytes/event||peak RSS MB||\n" +
			"|apiserver|sluice|floor|ratio|apiserver|sluice|floor|apiserver|sluice|floor|apiserver|sluice|apiserver|sluice|source",
		watchCells,
	},
	{
		idleTable,
		"idle|RSS MB||CPU %|\n" +
			"|apiserver|sluice|apiserver|sluice",
		idleCells,
	},
	{
		proofTable,
		"consistent reads|p50/p99 ms||||p50 ratio||upstream CPU ms/read|||CPU ratio||own CPU ms/read|||\n" +
			"|apiserver|sluice|two tiers|floor|sluice|two tiers|apiserver|sluice|two tiers|sluice|two tiers|sluice|two tiers|floor|" +
			"sluice: source; proofs",
		proofCells,
	},
	{
		attackTable,
		"attack on||victim|p50/p99 ms|failed|attacked|failed|apiserver meanwhile|failed|RSS MB|peak|attackers' answers",
		attackCells,
	},
	{
		crowdTable,
		"agents at||RSS MB|KB each|joined|apiserver CPU s|peak MB|refused|back after a restart|apiserver CPU s|peak MB|refused|" +
			"another user's p50/p99 ms|failed",
		crowdCells,
	},
	{
		kindsTable,
		"a controller of||synced|apiserver CPU s|then served|passed|upstream watches|RSS MB",
		kindsCells,
	},
	{syncTable, "in sync|seconds|CPU s|upstream CPU s|data MB|RSS MB|peak|bytes of RSS per object", syncCells},
	{memoryTable, "memory|after|JSON MB|RSS MB|of JSON|peak|by kind, MB", memoryCells},
	{
		stalledTable,
		"watches|not reading|delay p50/p99 ms|beside those|p99|CPU us/event|beside those|peak RSS MB",
		stalledCells,
	},
	{
		projectionTable,
		"|list|first|next|informer||client|watches|each update||clients'|peak RSS MB|informer's heap, 2 MB a block\n" +
			"|MB|CPU ms|CPU ms|MB received|heap MB|CPU ms|events|bytes|CPU us|CPU us|sluice|",
		projectionCells,
	},
}

// print writes the table unless it has no row.
func (t table) print(out io.Writer, rows []*row) {
	if len(rows) == 0 {
		return
	}
	var cells [][]string
	for _, r := range rows {
		cells = append(cells, t.cells(r))
	}
	writeTable(out, t.heads, cells)
}

func listCells(r *row) []string {
	a, s, f := r.of(apiserverName), r.of(sluiceName), r.of(floorName)
	cpu := func(f *figures) string { return f.CPUSpread.after(millis(f.CPU), "%.1f", 1e3) }
	walls := func(f *figures) string { return f.unlessNone(f.delays()) }
	size := func(f *figures) string { return f.unlessNone(megabytes(f.Bytes) + " " + f.Coding) }
	return []string{
		r.Case, cpu(a), cpu(s), cpu(f), ratio(a.CPU, s.CPU), millis(s.First), walls(a), walls(s), walls(f), size(a), size(s),
		megabytes(a.Peak), megabytes(s.Peak), r.Source,
	}
}

func watchCells(r *row) []string {
	a, s, f := r.of(apiserverName), r.of(sluiceName), r.of(floorName)
	cpu := func(f *figures) string { return f.CPUSpread.after(micros(f.CPU), "%.1f", 1e6) }
	return []string{
		r.Case, cpu(a), cpu(s), cpu(f), ratio(a.CPU, s.CPU), micros(a.Client), micros(s.Client), micros(f.Client),
		a.delays(), s.delays(), f.delays(), fmt.Sprintf("%.0f", a.Bytes), fmt.Sprintf("%.0f", s.Bytes),
		megabytes(a.Peak), megabytes(s.Peak), r.Source,
	}
}

func idleCells(r *row) []string {
	a, s := r.of(apiserverName), r.of(sluiceName)
	return []string{r.Case, megabytes(a.RSS), megabytes(s.RSS), fmt.Sprintf("%.1f", 100*a.Share), fmt.Sprintf("%.1f", 100*s.Share)}
}

// proofCells has ratios over the apiserver. The floor relays what it is asked. The apiserver of older reports may have CPU
// without reads, from a case with fewer readers. Zero is a measurement.
func proofCells(r *row) []string {
	a, s, u, fl := r.of(apiserverName), r.of(sluiceName), r.of(twoTiersName), r.of(floorName)
	latency := func(f *figures) string { return f.unlessNone(fmt.Sprintf("%.1f/%.1f", f.P50*1e3, f.P99*1e3)) }
	cpu := func(f *figures, seconds float64) string {
		if f.Requests == 0 && seconds == 0 {
			return none
		}
		return fmt.Sprintf("%.2f", seconds*1e3)
	}
	over := func(f *figures, value, apiserver float64) string {
		if apiserver == 0 {
			return none
		}
		return f.unlessNone(fmt.Sprintf("%.2fx", value/apiserver))
	}
	return []string{
		r.Case, latency(a), latency(s), latency(u), latency(fl), over(s, s.P50, a.P50), over(u, u.P50, a.P50),
		cpu(a, a.Upstream), cpu(s, s.Upstream), cpu(u, u.Upstream),
		over(s, s.Upstream, a.Upstream), over(u, u.Upstream, a.Upstream), cpu(s, s.Own), cpu(u, u.Own), cpu(fl, fl.Own),
		joined("; ", s.Source, s.Proofs, r.Note),
	}
}

func attackCells(r *row) []string {
	cells := []string{r.Target, r.Case, r.What}
	for _, name := range []string{quietly, attacked, meanwhile} {
		cells = append(cells, r.of(name).latency(), r.of(name).failed())
	}
	return append(cells, megabytes(r.of(quietly).RSS), megabytes(r.of(attacked).Peak), r.of(attackCommand).reasons())
}

func crowdCells(r *row) []string {
	own := r.of(r.Target)
	cells := []string{r.Case, fmt.Sprint(r.Clients), megabytes(own.RSS), figure("%.1f", own.Bytes/1e3)}
	for _, name := range []string{joining, returning} {
		f := r.of(name)
		cells = append(cells, inSeconds(f.Watches, f.Seconds), figure("%.1f", f.Upstream), megabytes(f.Peak), f.reasons())
	}
	return append(cells, r.of(attacked).latency(), r.of(attacked).failed())
}

func kindsCells(r *row) []string {
	synced, served := r.of(joining), r.of(serving)
	return []string{
		fmt.Sprintf("%d kinds", r.Objects), r.Target, inSeconds(synced.Watches, synced.Seconds), figure("%.1f", synced.Upstream),
		inSeconds(served.Requests, served.Seconds), served.reasons(), fmt.Sprint(served.Watches), megabytes(served.RSS),
	}
}

func syncCells(r *row) []string {
	f := r.of(r.Target)
	if r.Objects == 0 { // a whole process
		return []string{r.Case, "", "", "", "", megabytes(f.RSS)}
	}
	return []string{
		r.Case, fmt.Sprintf("%.1f", f.Seconds), fmt.Sprintf("%.1f", f.CPU), fmt.Sprintf("%.1f", f.Upstream), megabytes(f.Bytes),
		megabytes(f.RSS), megabytes(f.Peak), fmt.Sprint(f.RSS / int64(r.Objects)),
	}
}

func memoryCells(r *row) []string {
	f := r.of(r.Target)
	var kinds []string
	for _, kind := range slices.Sorted(maps.Keys(f.Counts)) {
		kinds = append(kinds, fmt.Sprintf("%s %.0f", kind, float64(f.Counts[kind])/1e6))
	}
	return []string{
		r.Case, r.What, megabytes(f.Bytes), megabytes(f.RSS), fmt.Sprintf("%.2f", float64(f.RSS)/f.Bytes),
		megabytes(f.Peak), strings.Join(kinds, ", "),
	}
}

func stalledCells(r *row) []string {
	before, beside := r.of(quietly), r.of(attacked)
	return []string{
		r.Case, fmt.Sprint(beside.Watches), before.delays(), beside.delays(), fmt.Sprintf("%.2fx", beside.P99/before.P99),
		micros(before.CPU), micros(beside.CPU), megabytes(beside.Peak),
	}
}

// unlessNone returns the text unless nothing was requested.
func (f *figures) unlessNone(text string) string {
	if f.Requests == 0 {
		return none
	}
	return text
}

func inSeconds(n int, seconds float64) string { return fmt.Sprintf("%d in %.1f s", n, seconds) }

func (f *figures) delays() string { return millis(f.P50) + "/" + millis(f.P99) }

// latency returns the percentiles of the requests that have succeeded.
func (f *figures) latency() string {
	if f.P50 == 0 {
		return none
	}
	return f.delays()
}

// failed returns how many requests have failed, and how.
func (f *figures) failed() string {
	if len(f.Counts) == 0 {
		return none
	}
	return fmt.Sprintf("%d of %d: %s", f.Counts.total(), f.Requests, f.Counts.reasons())
}

func (f *figures) reasons() string {
	if len(f.Counts) == 0 {
		return none
	}
	return f.Counts.reasons()
}

// joined joins the texts that are not empty.
func joined(separator string, texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(t string) bool { return t == "" }), separator)
}

// writeTable writes rows of cells below one or two lines of heads, which have bars between the cells.
func writeTable(out io.Writer, heads string, rows [][]string) {
	fmt.Fprintln(out)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.ReplaceAll(heads, "|", "\t"))
	for _, cells := range rows {
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	_ = w.Flush() // nothing can be done about a closed terminal
}

// none is the cell of a missing measurement.
const none = "-"

func millis(s float64) string { return figure("%.1f", s*1e3) }
func micros(s float64) string { return figure("%.1f", s*1e6) }

func megabytes[T int64 | float64](n T) string { return figure("%.1f", float64(n)/1e6) }

// figure formats a measurement; zero means none.
func figure(format string, f float64) string {
	if f == 0 {
		return none
	}
	return fmt.Sprintf(format, f)
}

func ratio(a, b float64) string {
	if a <= 0 || b <= 0 {
		return none
	}
	return fmt.Sprintf("%.1fx", a/b)
}
