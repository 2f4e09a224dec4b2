package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sluice/test/harness"
)

// TestMain lets the test binary run as its child processes, as the program does.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == floorCommand || len(os.Args) == 7 && os.Args[1] == clientCommand {
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
	if len(r.Lists) != 5*3*2+3 || len(r.FanOuts) != 2*2 || len(r.Latencies) != 4 || len(r.Proofs) != 2*2*len(proofShapes) || len(r.Goals) != len(allGoals()) {
		t.Errorf("%d lists, %d fan-outs, %d latencies, %d proofs and %d goals in the report",
			len(r.Lists), len(r.FanOuts), len(r.Latencies), len(r.Proofs), len(r.Goals))
	}
	for _, l := range r.Lists {
		checkList(t, l)
	}
	for _, f := range r.FanOuts {
		checkFanOut(t, f)
	}
	if len(r.Programs) < 4 { // those that need nothing
		t.Errorf("%d programs", len(r.Programs))
	}
	for _, l := range r.Programs {
		if !strings.HasSuffix(l.Case, " "+l.Coding) || l.CPU <= 0 || l.P99 < l.P50 {
			t.Errorf("%+v", l)
		}
	}
	for _, l := range r.Latencies {
		checkLatency(t, l)
	}
	for _, l := range r.Proofs {
		checkProof(t, l)
	}
}

// TestScaleReportsEverySection checks the program, not the speed of the servers.
func TestScaleReportsEverySection(t *testing.T) {
	r := runBench(t, "--scale="+strings.Join(scaleSections, ","), "--pods=2000", "--configmaps=100", "--feeds=50", "--large-configmaps=20", "--reports=2",
		"--watchers=20", "--stalled=10", "--updates=12", "--consistent-lists=1", "--idle=100ms")
	s, o := &r.Scale, full
	if len(s.Syncs) != 5 || len(s.Reads) != len(scaleReads(&o)) || len(s.Feeds) != 2 || len(s.Concurrent) != 4+2 || len(s.Memory) != 2*4 || len(s.Watches) != 2 {
		t.Errorf("%d syncs, %d reads, %d feeds, %d lists at once, %d steps of memory, %d lines of watches",
			len(s.Syncs), len(s.Reads), len(s.Feeds), len(s.Concurrent), len(s.Memory), len(s.Watches))
	}
	for _, l := range s.Syncs {
		if l.Objects == 0 || l.Seconds <= 0 || l.Data == 0 {
			t.Errorf("sync: %+v", l)
		}
	}
	for _, l := range s.Reads {
		checkScaleRead(t, l)
	}
	for _, g := range r.Goals {
		for _, want := range scaleGoals {
			if g.Work == want.work && g.Met == "not measured" {
				t.Errorf("goal %q is not measured", g.Work)
			}
		}
	}
}

// TestPlotHasABarForEachServerAndCase checks the form of a plot.
func TestPlotHasABarForEachServerAndCase(t *testing.T) {
	r := &report{Scale: scaleReport{Reads: []*scaleReadLine{
		{Case: "a<b", By: map[string]*scaleReadFigures{apiserverName: {CPU: 2}, sluiceName: {CPU: 0.01}}},
		{Case: "c", By: map[string]*scaleReadFigures{apiserverName: {CPU: 0.3}, sluiceName: {}}},
	}}}
	var out bytes.Buffer
	if err := r.plot(&out); err != nil {
		t.Fatal(err)
	}
	var svg struct {
		Bars []struct {
			Width float64 `xml:"width,attr"`
		} `xml:"rect"`
		Texts []string `xml:"text"`
	}
	text := strings.Replace(out.String(), `width="100%"`, `width="0"`, 1)
	if err := xml.Unmarshal([]byte(text), &svg); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if bars := svg.Bars[3:]; len(bars) != 3 || bars[0].Width <= bars[2].Width || bars[2].Width <= bars[1].Width {
		t.Errorf("bars %+v", bars)
	}
	if !slices.Contains(svg.Texts, "a<b") || !slices.Contains(svg.Texts, "c") {
		t.Errorf("texts %q", svg.Texts)
	}
	if err := new(report).plot(&out); err == nil {
		t.Error("a report without cases is plotted")
	}
}

// checkScaleRead checks that both targets have sent about as much, and that some reads come from the cache.
func checkScaleRead(t *testing.T, l *scaleReadLine) {
	t.Helper()
	a, s := l.By[apiserverName], l.By[sluiceName]
	if a.Requests == 0 || s.Requests == 0 || s.P99 < s.P50 || s.Source == "" {
		t.Errorf("%s: %+v, %+v", l.Case, a, s)
	}
	if !strings.Contains(l.Case, "gzip") && (s.Bytes < a.Bytes*9/10-100 || s.Bytes > a.Bytes*11/10+100) {
		t.Errorf("%s: apiserver sent %d bytes, sluice %d", l.Case, a.Bytes, s.Bytes)
	}
	if !strings.Contains(l.Case, "consistent") && !strings.Contains(l.Case, "page") && !strings.HasPrefix(s.Source, fromCache) {
		t.Errorf("%s: source %s", l.Case, s.Source)
	}
}

func checkProof(t *testing.T, l *proofLine) {
	t.Helper()
	for _, name := range []string{apiserverName, sluiceName, twoTiersName} {
		f := l.By[name]
		if f == nil || f.Reads < l.Readers || f.P50 <= 0 || f.P99 < f.P50 || (f.Source == "") != (name == apiserverName) {
			t.Errorf("%s: %s: %+v, note %q", l.Case, name, f, l.Note)
		}
	}
}

func checkList(t *testing.T, l *listLine) {
	t.Helper()
	if l.Source != fromCache {
		t.Errorf("%s: source %s", l.Case, l.Source)
	}
	a, s := l.By[apiserverName], l.By[sluiceName]
	// Updates change lengths, and the bookmark of a streaming list contains the current version.
	if identity := strings.Contains(l.Case, "list") && strings.Contains(l.Case, "identity"); identity && !strings.Contains(l.Case, "+") && a.Bytes != s.Bytes {
		t.Errorf("%s: apiserver sent %d bytes, sluice %d", l.Case, a.Bytes, s.Bytes)
	}
	for _, coding := range []string{identity, "gzip", "zstd"} {
		if strings.Contains(l.Case, " "+coding+" ") && s.Coding != coding {
			t.Errorf("%s: sluice responded in %s", l.Case, s.Coding)
		}
	}
	for name, f := range l.By {
		if f.Requests == 0 || f.Bytes == 0 || f.P99 <= 0 || f.Peak == 0 || f.Coding == "" {
			t.Errorf("%s: %s: %+v", l.Case, name, f)
		}
	}
	if strings.Contains(l.Case, "yaml") && (a.Requests != 1 || l.Note == "") {
		t.Errorf("%s: %d requests to the apiserver, note %q", l.Case, a.Requests, l.Note)
	}
}

func checkLatency(t *testing.T, l *latencyLine) {
	t.Helper()
	passed := strings.Contains(l.Source, "passed: get-latest (2)")
	if strings.HasPrefix(l.Case, "get") && !passed || l.Source == "" {
		t.Errorf("%s: source %s", l.Case, l.Source)
	}
	for name, f := range l.By {
		if f.Requests != 2 || f.P50 <= 0 || f.P99 < f.P50 {
			t.Errorf("%s: %s: %+v", l.Case, name, f)
		}
	}
}

func checkFanOut(t *testing.T, f *fanOutLine) {
	t.Helper()
	if f.Source != fromCache || f.Event < 4000 {
		t.Errorf("%s: source %s, events of %d bytes", f.Case, f.Source, f.Event)
	}
	a, s, floor := f.By[apiserverName], f.By[sluiceName], f.By[floorName]
	event := float64(f.Event)
	if compressed := strings.Contains(f.Case, " gzip "); (s.Bytes < event/2) != compressed || (floor.Bytes < event/2) != compressed || a.Bytes < event*9/10 {
		t.Errorf("%s: %.0f bytes by the apiserver, %.0f by sluice, %.0f by the floor of events of %d", f.Case, a.Bytes, s.Bytes, floor.Bytes, f.Event)
	}
	if a.Watches != f.Watchers+1 || s.Watches != 1 {
		t.Errorf("%s: %d watches at the apiserver without sluice, %d with it", f.Case, a.Watches, s.Watches)
	}
}

func TestOnlySelectsCases(t *testing.T) {
	o, err := parseOptions([]string{"--only=^list protobuf gzip x20$"})
	if err != nil {
		t.Fatal(err)
	}
	if l, w := listCases(o), fanOuts(o); len(l) != 1 || len(w) != 0 {
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

func TestFloorServesThePreparedResponse(t *testing.T) {
	f, err := startFloor()
	if err != nil {
		t.Fatal(err)
	}
	defer f.stop()
	want := &harness.Response{Header: map[string][]string{"Content-Type": {"a/b"}, "Content-Encoding": {"gzip"}}, Body: []byte("body")}
	if err := f.put(t.Context(), "/x", want); err != nil {
		t.Fatal(err)
	}
	got, err := f.raw.Get(t.Context(), "/x", "*/*")
	if err != nil {
		t.Fatal(err)
	}
	if string(got.Body) != "body" || got.Header.Get("Content-Type") != "a/b" || got.Header.Get("Content-Encoding") != "gzip" {
		t.Errorf("%v %q", got.Header, got.Body)
	}
}
