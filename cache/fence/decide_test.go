package fence

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the tables in testdata anew")

// The reads of the table are of pages of 64 KiB, their resources of objects of which an inventory lists 512 bytes.
const (
	pageWork   = requestWork + 64<<10*workPerByte
	entryBytes = 512
)

// row is a question of the table.
type row struct {
	title    string
	question Question
}

var questions = []row{
	{"arrives", Question{After: Arrived, Small: true, MayForward: true, Work: pageWork}},
	{"large one arrives", Question{After: Arrived, MayForward: true, Work: time.Second}},
	{"get arrives", Question{After: Arrived, Get: true, Patient: true, Work: requestWork}},
	{"small scope", Question{After: Arrived, Small: true, Scoped: true, Patient: true, Work: pageWork}},
	{"worker asks", Question{After: Asked}},
	{"known", Question{After: Known}},
	{"not reached", Question{After: Waited, Small: true, MayForward: true, Work: pageWork}},
	{"200 KB not reached", Question{After: Waited, MayForward: true, Work: 4 * time.Millisecond}},
	{"exact, 10 MB to come", Question{After: Exact, Work: readWork(10 << 20)}},
	{"worker proves", Question{After: Confirms}},
	{"while it lists", Question{After: Confirms, Running: true, RunningFor: 400 * time.Millisecond}},
	{"it lists for long", Question{After: Confirms, Running: true, RunningFor: quickInventory}},
}

// situation is what one table is of.
type situation struct {
	name  string
	facts func(f *Facts)
}

var situations = []situation{
	{"events come", func(f *Facts) {}},
	{"events come, and the version rises", func(f *Facts) { f.Rising = true }},
	{"no events come, and the version rises", func(f *Facts) { f.Rising, f.Silent = true, true }},
	{"the version rose 10 s ago", func(f *Facts) { f.Rising, f.Silent, f.Found = true, true, risingFor }},
	{"no event has come that was waited for", func(f *Facts) { f.Rising, f.Missed = true, true }},
	{"the allowance is overdrawn, no events", func(f *Facts) { f.Rising, f.Silent, f.Owed = true, true, time.Minute }},
	{"an inventory has failed", func(f *Facts) { f.Failed = true }},
	{"the store lacks what the inventory has", func(f *Facts) { f.Pending = true }},
	{"stalled", func(f *Facts) { f.Stalled = true }},
	{"in doubt", func(f *Facts) { f.Doubtful = true }},
	{"a second watch was opened just now", func(f *Facts) { f.NextWatch = secondWatchInterval }},
}

// sizes are the columns of the table.
var sizes = []struct{ objects, reads int }{
	{100, 1}, {100, 20}, {3000, 1}, {3000, 3}, {3000, 100}, {20_000, 1}, {20_000, 300}, {1_000_000, 100},
}

// decisions returns the table.
func decisions() string {
	var out strings.Builder
	out.WriteString("# What fence.Next decides. Rows are questions, columns are objects x readers, a table is a situation.\n")
	out.WriteString("# Written by go test ./cache/fence -run TestDecisions -update\n")
	for _, s := range situations {
		fmt.Fprintf(&out, "\n## %s\n\n%-22s", s.name, "")
		for _, size := range sizes {
			fmt.Fprintf(&out, "%-14s", fmt.Sprintf("%d x %d", size.objects, size.reads))
		}
		for _, c := range questions {
			fmt.Fprintf(&out, "\n%-22s", c.title)
			for _, size := range sizes {
				f := Facts{
					Objects: size.objects, Price: inventoryWork(int64(size.objects) * entryBytes),
					Reads: size.reads, UnderWay: time.Duration(size.reads) * pageWork,
				}
				s.facts(&f)
				fmt.Fprintf(&out, "%-14s", Next(c.question, f))
			}
		}
		out.WriteString("\n")
	}
	lines := strings.Split(out.String(), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	return strings.Join(lines, "\n")
}

// recorded returns a table in testdata, which is got after an update.
func recorded(t *testing.T, file, got string) []string {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(text), "\n")
}

// The table shows every change of a decision: a change of Next that is meant is written with -update and read.
func TestDecisionsAreThoseOfTheTable(t *testing.T) {
	got := decisions()
	if diff := cmp.Diff(recorded(t, "testdata/decisions.txt", got), strings.Split(got, "\n")); diff != "" {
		t.Errorf("the table differs (-want +got):\n%s", diff)
	}
}
