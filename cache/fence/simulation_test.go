package fence

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// apiservers are those of the table, with the resources that it is simulated with.
var apiservers = []struct {
	name    string
	slow    time.Duration
	stalled bool
	sizes   []int // of resources
}{
	{"", 1, false, []int{0, 1, 2}},
	{"a dear apiserver, ", 4, false, []int{1}},
	{"nothing arrives, ", 1, true, []int{0, 2}},
}

var resources = []struct {
	name           string
	objects, entry int
}{
	{"1,000 objects of 5 KB", 1000, 512}, {"10,000 objects of 5 KB", 10_000, 512}, {"10,000 objects of 50 KB", 10_000, 5120},
}

var readers = []struct {
	name    string
	readers int
	pause   time.Duration
}{{"lone", 1, 100 * time.Millisecond}, {"herd", 20, 5 * time.Millisecond}, {"steady", 30, time.Second}}

const simulationsHead = `# What reads get under fence.Next, beside passing all of them and proving all of them.
# Written by go test ./cache/fence -run TestReadsGetWhatTheSimulationShows -update
#
# A herd is 20 readers with a pause of 5 ms, a steady load is 30 reads a second. A small read is of 150 KB, a large one of
# all objects; a stream is a streaming list of 150 KB, which cannot pass once it has begun. A busy resource is written 50
# times a second; another one is written 20 times a second. p50 is the time that a read takes, CPU what it costs the
# apiserver, divided by what it costs if it passes. Of 100 reads, so many pass, and for them so many inventories are taken
# and second watches opened; late is how many have no proof in 3 s, and pass then.
`

// simulations returns the table: all of it, or without what proving all reads comes to.
func simulations(t *testing.T, all bool) string {
	var out strings.Builder
	out.WriteString(simulationsHead)
	passed := map[string][]string{}
	for _, a := range apiservers {
		for _, size := range a.sizes {
			for _, busy := range []string{"quiet", "busy"} {
				r := resources[size]
				fmt.Fprintf(&out, "\n## %s%s, %s\n\n", a.name, r.name, busy)
				head := []string{"CPU", "pass", "inv.", "2nd", "late"}
				writeRow(&out, append(append([]string{"", "pass all", "rule"}, head...), append([]string{"prove all"}, head...)...))
				for _, l := range readers {
					for read, name := range []string{small: "small", large: "large", stream: "stream"} {
						c := cell{a.slow, a.stalled, r.objects, r.entry, busy == "busy", l.readers, l.pause, reading(read)}
						passing := fmt.Sprint(c.slow, c.readers, c.bytes()) // what else differs does not matter
						if passed[passing] == nil {
							passed[passing] = simulate(t, c, passAll).columns()[:1]
						}
						row := slices.Concat([]string{l.name + ", " + name}, passed[passing], simulate(t, c, byRule).columns())
						if all {
							row = append(row, simulate(t, c, proveAll).columns()...)
						}
						writeRow(&out, row)
					}
				}
			}
		}
	}
	return out.String()
}

// writeRow writes a row of the table.
func writeRow(out *strings.Builder, columns []string) {
	fmt.Fprintf(out, "%-15s", columns[0])
	for i, c := range columns[1:] {
		fmt.Fprintf(out, "%*s", 6+5*max(0, 1-(i+5)%6), c) // those of times are wider
	}
	out.WriteString("\n")
}

// columns returns the figures as the table shows them.
func (f figures) columns() []string {
	all := []string{f.p50.Round(time.Millisecond).String(), fmt.Sprintf("%.2f", f.work)}
	for _, n := range []int{f.passed, f.inventories, f.secondWatches, f.late} {
		all = append(all, fmt.Sprint((100*n+f.reads/2)/max(f.reads, 1)))
	}
	return all
}

// With virtual time the figures are the same on every machine, except where two events have the same timestamp. Record an
// intended change with -update, and review it: no row may get worse. The columns of "prove all" are not compared.
func TestReadsGetWhatTheSimulationShows(t *testing.T) {
	got := simulations(t, *update)
	want, rows := recorded(t, "testdata/simulations.txt", got), strings.Split(got, "\n")
	if len(want) != len(rows) {
		t.Fatalf("%d rows, want %d", len(rows), len(want))
	}
	for i, row := range rows {
		columns, shown := strings.Fields(want[i]), strings.Fields(row)
		if !alike(columns[:min(len(columns), len(shown))], shown) {
			t.Errorf("line %d differs:\nwant %s\ngot  %s", i+1, want[i], row)
		}
	}
}

// alike reports whether two rows show about the same.
func alike(a, b []string) bool {
	return slices.EqualFunc(a, b, func(a, b string) bool {
		if a == b {
			return true
		}
		x, slack, errX := figure(a)
		y, _, errY := figure(b)
		return errX == nil && errY == nil && math.Abs(x-y) <= slack+max(x, y)/4
	})
}

// figure returns the number of a column, in milliseconds if it is a time, and how much it may differ however small it is.
func figure(text string) (value, slack float64, err error) {
	if took, err := time.ParseDuration(text); err == nil && strings.HasSuffix(text, "s") {
		return took.Seconds() * 1000, 5, nil
	}
	value, err = strconv.ParseFloat(text, 64)
	if strings.Contains(text, ".") {
		return value, 0.1, err
	}
	return value, 10, err
}
