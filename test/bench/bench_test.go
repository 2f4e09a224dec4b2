package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
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

// runBench runs the program with --quick and other flags, and returns its report.
func runBench(t *testing.T, flags ...string) *report {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.json")
	var out bytes.Buffer
	if err := run(t.Context(), append([]string{"--quick", "--json=" + file}, flags...), &out); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + out.String())
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	r := &report{}
	if err := json.Unmarshal(text, r); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestBenchReportsEveryCase checks the program, not the speed of the servers.
func TestBenchReportsEveryCase(t *testing.T) {
	r := runBench(t, "--pods=50", "--clients=3", "--churn=0,50", "--watchers="+fmt.Sprint(streams+1), "--updates=4", "--consistent-lists=2", "--gets=2",
		"--sizes=40", "--readers=2,20", "--watches=json,cbor", "--encodings=identity,gzip,zstd", "--window=1ms", "--idle=100ms")
	checkRows(t, r, map[string]int{
		listTable: 5*3*2 + 3, watchTable: 2 * 2, latencyTable: 4, proofTable: 2 * 2 * len(proofShapes), idleTable: 2,
	})
	if len(r.Goals) != len(goals) {
		t.Errorf("%d goals in the report", len(r.Goals))
	}
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
		listTable: checkList, watchTable: checkWatch, latencyTable: checkLatency, proofTable: checkProof,
		syncTable: checkSync, readTable: checkRead,
	}
	for _, row := range r.Rows {
		if check := check[row.Table]; check != nil {
			check(t, row)
		}
	}
}

// TestScaleReportsEverySection checks the program, not the speed of the servers.
func TestScaleReportsEverySection(t *testing.T) {
	all, err := parseOptions(nil)
	if err != nil {
		t.Fatal(err)
	}
	r := runBench(t, "--scale="+strings.Join(scaleSections, ","), "--pods=2000", "--configmaps=100", "--large-configmaps=20", "--reports=2",
		"--watchers=20", "--stalled=10", "--updates=12", "--consistent-lists=1", "--idle=100ms")
	checkRows(t, r, map[string]int{
		syncTable: 5 + 2, readTable: len(readScenarios(all)), atOnceTable: 4 + 2, memoryTable: 2 * 4, stalledTable: 2,
	})
	scaled := map[string]bool{readTable: true, atOnceTable: true, memoryTable: true, stalledTable: true}
	for _, g := range r.Goals {
		for _, want := range goals {
			if g.Work == want.work && scaled[want.table] && g.Met == "not measured" {
				t.Errorf("goal %q is not measured", g.Work)
			}
		}
	}
}

// TestProjectionsReportEveryClient checks that the fewer fields a client needs the less it is sent.
func TestProjectionsReportEveryClient(t *testing.T) {
	r := runBench(t, "--projections", "--pods=50", "--watchers=5", "--updates=3", "--idle=100ms")
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

// checkRead checks that both targets have sent about as much, and that some reads come from the cache.
func checkRead(t *testing.T, r *row) {
	t.Helper()
	a, s := r.of(apiserverName), r.of(sluiceName)
	if a.Requests == 0 || s.Requests == 0 || s.P99 < s.P50 || s.Source == "" {
		t.Errorf("%s: %+v, %+v", r.Case, a, s)
	}
	if !strings.Contains(r.Case, "gzip") && (s.Bytes < a.Bytes*9/10-100 || s.Bytes > a.Bytes*11/10+100) {
		t.Errorf("%s: apiserver sent %.0f bytes, sluice %.0f", r.Case, a.Bytes, s.Bytes)
	}
	if !strings.Contains(r.Case, "consistent") && !strings.Contains(r.Case, "page") && !strings.HasPrefix(s.Source, fromCache) {
		t.Errorf("%s: source %s", r.Case, s.Source)
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

func checkList(t *testing.T, r *row) {
	t.Helper()
	if r.Source != fromCache {
		t.Errorf("%s: source %s", r.Case, r.Source)
	}
	a, s := r.of(apiserverName), r.of(sluiceName)
	// Updates change lengths, and the bookmark of a streaming list contains the current version.
	if identity := strings.Contains(r.Case, "list") && strings.Contains(r.Case, "identity"); identity && !strings.Contains(r.Case, "+") && a.Bytes != s.Bytes {
		t.Errorf("%s: apiserver sent %.0f bytes, sluice %.0f", r.Case, a.Bytes, s.Bytes)
	}
	for _, coding := range []string{identity, "gzip", "zstd"} {
		if strings.Contains(r.Case, " "+coding+" ") && s.Coding != coding {
			t.Errorf("%s: sluice responded in %s", r.Case, s.Coding)
		}
	}
	for _, name := range []string{apiserverName, sluiceName, floorName} {
		if f := r.of(name); f.Requests == 0 || f.Bytes == 0 || f.P99 <= 0 || f.Peak == 0 || f.Coding == "" {
			t.Errorf("%s: %s: %+v", r.Case, name, f)
		}
	}
	if strings.Contains(r.Case, "yaml") && (a.Requests != 1 || r.Note == "") {
		t.Errorf("%s: %d requests to the apiserver, note %q", r.Case, a.Requests, r.Note)
	}
}

func checkLatency(t *testing.T, r *row) {
	t.Helper()
	passed := strings.Contains(r.Source, "passed: get-latest (2)")
	if strings.HasPrefix(r.Case, "get") && !passed || r.Source == "" {
		t.Errorf("%s: source %s", r.Case, r.Source)
	}
	for _, name := range []string{apiserverName, sluiceName, floorName} {
		if f := r.of(name); f.Requests != 2 || f.P50 <= 0 || f.P99 < f.P50 {
			t.Errorf("%s: %s: %+v", r.Case, name, f)
		}
	}
}

func checkWatch(t *testing.T, r *row) {
	t.Helper()
	event := r.of(updateName).Bytes
	if r.Source != fromCache || event < 4000 {
		t.Errorf("%s: source %s, events of %.0f bytes", r.Case, r.Source, event)
	}
	a, s, floor := r.of(apiserverName), r.of(sluiceName), r.of(floorName)
	if compressed := strings.Contains(r.Case, " gzip "); (s.Bytes < event/2) != compressed || (floor.Bytes < event/2) != compressed || a.Bytes < event*9/10 {
		t.Errorf("%s: %.0f bytes by the apiserver, %.0f by sluice, %.0f by the floor of events of %.0f", r.Case, a.Bytes, s.Bytes, floor.Bytes, event)
	}
	if a.Watches != r.Clients+1 || s.Watches != 1 {
		t.Errorf("%s: %d watches at the apiserver without sluice, %d with it", r.Case, a.Watches, s.Watches)
	}
}

func TestOnlySelectsCases(t *testing.T) {
	o, err := parseOptions([]string{"--only=^list protobuf gzip x20$"})
	if err != nil {
		t.Fatal(err)
	}
	if l, w := listScenarios(o), fanOutScenarios(o); len(l) != 1 || len(w) != 0 {
		t.Errorf("%v, %v", l, w)
	}
}

func TestInvalidOptionsAreErrors(t *testing.T) {
	for _, arg := range []string{"--formats=xml", "--clients=0", "--watchers=many", "--pods=0", "--watches=yaml", "--streams=xml",
		"--encodings=br", "--scale=all", "--stalled=0", "--consistent-lists=0", "--only=("} {
		if _, err := parseOptions([]string{arg}); err == nil {
			t.Errorf("%s is accepted", arg)
		}
	}
}
