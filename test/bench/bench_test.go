package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test binary run as its child processes, as the program does.
func TestMain(m *testing.M) {
	if _, child := children[os.Args[min(1, len(os.Args)-1)]]; child {
		if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// runBench measures with --quick, other flags, and sizes that a function sets, and returns the report as it is saved.
func runBench(t *testing.T, sizes func(*options), flags ...string) *report {
	t.Helper()
	o, err := parseOptions(append([]string{"--quick", "--json=" + filepath.Join(t.TempDir(), "report.json")}, flags...))
	if err != nil {
		t.Fatal(err)
	}
	o.idle = 100 * time.Millisecond
	sizes(o)
	measured, err := bench(t.Context(), o)
	var out bytes.Buffer
	measured.print(&out)
	t.Log("\n" + out.String())
	if err != nil {
		t.Fatal(err)
	}
	measured.save(o.json)
	return loadReport(o.json)
}

// TestBenchReportsEveryCase checks the program, not the speed of the servers.
func TestBenchReportsEveryCase(t *testing.T) {
	r := runBench(t, func(o *options) { o.clients, o.readers, o.window = []int{3}, []int{2, 20}, time.Millisecond },
		"--pods=50", "--watchers="+fmt.Sprint(streams+1), "--updates=4")
	checkRows(t, r, map[string]int{listTable: 3 * 2, watchTable: 2, proofTable: 2 * 2 * len(proofShapes), idleTable: 2})
}

// checkRows checks that the tables have so many rows, and no other table has one, and checks each row.
func checkRows(t *testing.T, r *report, want map[string]int) {
	t.Helper()
	for _, table := range tables {
		if rows := r.rows(table.name); len(rows) != want[table.name] {
			t.Errorf("%d rows of %s, want %d", len(rows), table.name, want[table.name])
		}
	}
	check := map[string]func(*testing.T, *row){
		listTable: checkList, watchTable: checkWatch, proofTable: checkProof, syncTable: checkSync,
	}
	for _, row := range r.Rows {
		if check := check[row.Table]; check != nil {
			check(t, row)
		}
	}
}

// TestScaleReportsEverySection checks the program, not the speed of the servers.
func TestScaleReportsEverySection(t *testing.T) {
	r := runBench(t, func(o *options) { o.large, o.reports, o.repeats = 20, 2, 1 },
		"--scale="+strings.Join(scaleSections, ","), "--pods=2000", "--watchers=20", "--updates=12")
	all, _ := parseOptions(nil)
	checkRows(t, r, map[string]int{
		syncTable: 5 + 2, listTable: len(readScenarios(all)) + 4, memoryTable: 2 * 4, stalledTable: 2,
	})
	scaled := map[string]bool{memoryTable: true, stalledTable: true}
	for _, g := range goals {
		if _, measured := g.worst(r); scaled[g.table] && !measured {
			t.Errorf("goal %q is not measured", g.work)
		}
	}
}

// TestProjectionsReportEveryClient checks that the fewer fields a client needs the less it is sent.
func TestProjectionsReportEveryClient(t *testing.T) {
	r := runBench(t, func(*options) {}, "--projections", "--pods=50", "--watchers=5", "--updates=3")
	checkRows(t, r, map[string]int{projectionTable: 2 * len(fieldSets)})
	for i, row := range r.rows(projectionTable) {
		if i%len(fieldSets) == 0 || strings.HasSuffix(r.Rows[i-1].Case, "quiet") {
			continue // the extender keeps other fields than the agent
		}
		if now, before := row.of(updateName), r.Rows[i-1].of(updateName); now.Bytes >= before.Bytes {
			t.Errorf("%s: %.0f bytes for an update, not less than %.0f", row.Case, now.Bytes, before.Bytes)
		}
	}
}

func checkSync(t *testing.T, r *row) {
	t.Helper()
	if f := r.of(sluiceName); r.Objects > 0 && (f.Seconds <= 0 || f.Bytes == 0) {
		t.Errorf("%s: %+v", r.Case, f)
	}
}

func checkProof(t *testing.T, r *row) {
	t.Helper()
	for _, name := range []string{apiserverName, sluiceName, twoTiersName} {
		if f := r.of(name); f.Requests < r.Clients || f.P50 <= 0 || f.P99 < f.P50 || (f.Source == "") != (name == apiserverName) {
			t.Errorf("%s: %s: %+v, note %q", r.Case, name, f, r.Note)
		}
	}
}

// checkList checks that all servers have sent about as much, and that Sluice serves any version from the cache.
func checkList(t *testing.T, r *row) {
	t.Helper()
	recent := strings.Contains(r.Case, "consistent") || strings.Contains(r.Case, "page")
	if r.Source == "" || !recent && r.Source != fromCache {
		t.Errorf("%s: source %s", r.Case, r.Source)
	}
	a, s := r.of(apiserverName), r.of(sluiceName)
	differs := a.Bytes/10 + 100
	if strings.HasPrefix(r.Case, "list ") {
		differs = 0
	}
	if compressed := strings.Contains(r.Case, "gzip"); (s.Coding == "gzip") != compressed || !compressed && a.Requests > 0 && math.Abs(s.Bytes-a.Bytes) > differs {
		t.Errorf("%s: apiserver sent %.0f bytes, sluice %.0f in %s", r.Case, a.Bytes, s.Bytes, s.Coding)
	}
	for name, f := range r.By {
		if f.Requests == 0 || f.Bytes == 0 || f.P99 < f.P50 || f.P50 <= 0 || f.Peak == 0 || f.Coding == "" {
			t.Errorf("%s: %s: %+v", r.Case, name, f)
		}
	}
}

func checkWatch(t *testing.T, r *row) {
	t.Helper()
	a, s, floor := r.of(apiserverName), r.of(sluiceName), r.of(floorName)
	const size, tolerance = 7830, 200 // bytes of the event of a sample pod: results depend on them
	if r.Source != fromCache || math.Abs(a.Bytes-size) > tolerance {
		t.Errorf("%s: source %s, events of %.0f bytes", r.Case, r.Source, a.Bytes)
	}
	if compressed := strings.Contains(r.Case, " gzip "); (s.Bytes < a.Bytes/2) != compressed || (floor.Bytes < a.Bytes/2) != compressed {
		t.Errorf("%s: %.0f bytes by sluice, %.0f by the floor of events of %.0f", r.Case, s.Bytes, floor.Bytes, a.Bytes)
	}
}
