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

	"sluice/test/harness"
)

// TestMain lets the test binary run as the floor, as the program does.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == floorCommand {
		if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// TestBenchReportsEveryCase checks the program, not the speed of the servers.
func TestBenchReportsEveryCase(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.json")
	var out bytes.Buffer
	err := run(t.Context(), []string{
		"--quick", "--pods=50", "--clients=3", "--churn=0,50", "--watchers=" + fmt.Sprint(streams+1), "--updates=4", "--consistent-lists=2", "--gets=2",
		"--sizes=40", "--readers=2,20", "--watches=cbor", "--encodings=identity,gzip,zstd", "--window=1ms", "--idle=100ms", "--json=" + file,
	}, &out)
	if err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + out.String())
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var r report
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Lists) != 4*3*2+3 || len(r.FanOuts) != 1 || len(r.Latencies) != 4 || len(r.Proofs) != 2*2*len(proofShapes) || len(r.Goals) != len(allGoals()) {
		t.Errorf("%d lists, %d fan-outs, %d latencies, %d proofs and %d goals in the report",
			len(r.Lists), len(r.FanOuts), len(r.Latencies), len(r.Proofs), len(r.Goals))
	}
	for _, l := range r.Lists {
		checkList(t, l)
	}
	for _, f := range r.FanOuts {
		checkFanOut(t, f)
	}
	for _, l := range r.Latencies {
		checkLatency(t, l)
	}
	for _, l := range r.Proofs {
		checkProof(t, l)
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
	if a, s := f.By[apiserverName].Watches, f.By[sluiceName].Watches; a != f.Watchers+1 || s != 1 {
		t.Errorf("%s: %d watches at the apiserver without sluice, %d with it", f.Case, a, s)
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
		"--encodings=br", "--consistent-lists=0", "--only=("} {
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
