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

// TestMain lets the test's binary be the floor, as the program itself is.
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

// TestBench proves that the program works, not that anything is fast.
func TestBench(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.json")
	var out bytes.Buffer
	err := run(t.Context(), []string{
		"--quick", "--pods=50", "--clients=3", "--churn=0,50", "--watchers=" + fmt.Sprint(streams+1), "--updates=4", "--fences=2", "--gets=2",
		"--watches=cbor", "--encodings=identity,gzip,zstd", "--window=1ms", "--rest=100ms", "--json=" + file,
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
	if len(r.Lists) != 4*3*2+3 || len(r.FanOuts) != 1 || len(r.Latencies) != 4 || len(r.Goals) != len(goals) {
		t.Errorf("%d lists, %d fan-outs, %d latencies and %d goals in the report", len(r.Lists), len(r.FanOuts), len(r.Latencies), len(r.Goals))
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
}

func checkList(t *testing.T, l *listLine) {
	t.Helper()
	if l.Answered != fromCache {
		t.Errorf("%s: answered from %s", l.Case, l.Answered)
	}
	a, s := l.By[apiserverName], l.By[sluiceName]
	// Updates change lengths, and the bookmark that ends a streaming list names the version of its time.
	if identity := strings.Contains(l.Case, "list") && strings.Contains(l.Case, "identity"); identity && !strings.Contains(l.Case, "+") && a.Bytes != s.Bytes {
		t.Errorf("%s: %d bytes of the apiserver, %d of sluice", l.Case, a.Bytes, s.Bytes)
	}
	for _, coding := range []string{identity, "gzip", "zstd"} {
		if strings.Contains(l.Case, " "+coding+" ") && s.Coding != coding {
			t.Errorf("%s: sluice answers in %s", l.Case, s.Coding)
		}
	}
	for name, f := range l.By {
		if f.Requests == 0 || f.Bytes == 0 || f.P99 <= 0 || f.Peak == 0 || f.Coding == "" {
			t.Errorf("%s: %s: %+v", l.Case, name, f)
		}
	}
	if strings.Contains(l.Case, "yaml") && (a.Requests != 1 || l.Note == "") {
		t.Errorf("%s: the apiserver was asked for %d, noted %q", l.Case, a.Requests, l.Note)
	}
}

func checkLatency(t *testing.T, l *latencyLine) {
	t.Helper()
	passed := strings.Contains(l.Answered, "passed: get-latest (2)")
	if strings.HasPrefix(l.Case, "get") && !passed || l.Answered == "" {
		t.Errorf("%s: answered from %s", l.Case, l.Answered)
	}
	for name, f := range l.By {
		if f.Requests != 2 || f.P50 <= 0 || f.P99 < f.P50 {
			t.Errorf("%s: %s: %+v", l.Case, name, f)
		}
	}
}

func checkFanOut(t *testing.T, f *fanOutLine) {
	t.Helper()
	if f.Answered != fromCache || f.Event < 4000 {
		t.Errorf("%s: answered from %s, events of %d bytes", f.Case, f.Answered, f.Event)
	}
	if a, s := f.By[apiserverName].Watches, f.By[sluiceName].Watches; a != f.Watchers+1 || s != 1 {
		t.Errorf("%s: %d watches at the apiserver without sluice, %d with", f.Case, a, s)
	}
}

func TestCaseThatMatchesNothing(t *testing.T) {
	o, err := parseOptions([]string{"--only=^list protobuf gzip x20$"})
	if err != nil {
		t.Fatal(err)
	}
	if l, w := listCases(o), fanOuts(o); len(l) != 1 || len(w) != 0 {
		t.Errorf("%v, %v", l, w)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for _, arg := range []string{"--formats=xml", "--clients=0", "--watchers=many", "--pods=0", "--watches=yaml", "--streams=xml",
		"--encodings=br", "--fences=0", "--only=("} {
		if _, err := parseOptions([]string{arg}); err == nil {
			t.Errorf("%s is accepted", arg)
		}
	}
}

func TestChildIsFoundByItsProgram(t *testing.T) {
	f, err := startFloor()
	if err != nil {
		t.Fatal(err)
	}
	defer f.stop()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if p, err := child(filepath.Base(self)); err != nil || p != f.proc() {
		t.Errorf("found %d, %v, not %d", p, err, f.proc())
	}
	if _, err := child("no-such-program"); err == nil {
		t.Error("found a program that does not run")
	}
}

func TestFloorAnswersAsItWasTold(t *testing.T) {
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
