package main

import (
	"fmt"
	"io"
	"runtime"
	"time"
)

// report contains all measurements; its JSON contains no ratios.
type report struct {
	Date      time.Time      `json:"date"`
	CPUs      int            `json:"cpus"`
	Load      float64        `json:"loadAverageAtStart"`
	LoadAtEnd float64        `json:"loadAverageAtEnd"`
	Pods      int            `json:"pods"`
	Rounds    int            `json:"rounds"`
	Rate      int            `json:"updatesPerSecond"` // in fan-outs
	Idle      idle           `json:"idle"`             // after pods are created
	End       idle           `json:"end"`
	Lists     []*listLine    `json:"lists"`
	FanOuts   []*fanOutLine  `json:"fanOuts"`
	Programs  []*programLine `json:"programs"`
	Latencies []*latencyLine `json:"latencies"`
	Proofs    []*proofLine   `json:"proofs"`
	Abuse     []*abuseLine   `json:"abuse"`
	Attacks   []*attackLine  `json:"attacks"`
	Crowds    []*crowdLine   `json:"crowds"`
	Kinds     []*kindsLine   `json:"kinds"`
	Scale     scaleReport    `json:"scale"`
	Goals     []*outcome     `json:"goals"`
}

func newReport(o *options) *report {
	return &report{
		Date: time.Now().UTC().Truncate(time.Second), CPUs: runtime.NumCPU(), Load: loadAverage(),
		Pods: o.pods, Rounds: o.rounds, Rate: o.rate,
	}
}

// print writes the report as aligned text. In the tables of lists and fan-outs a ratio is the
// apiserver over Sluice.
func (r *report) print(out io.Writer) {
	fmt.Fprintf(out, "%s%d CPUs; load average %.1f before and %.1f after\n", r.sizes(), r.CPUs, r.Load, r.LoadAtEnd)
	r.printLists(out)
	r.printFanOuts(out)
	r.printPrograms(out)
	r.printLatencies(out)
	r.printIdle(out)
	r.printProofs(out)
	r.printAbuse(out)
	r.printAttacks(out)
	r.printCrowds(out)
	r.printKinds(out)
	r.Scale.print(out)
	r.printGoals(out)
}

// sizes returns the number of pods, unless a table has the number of objects, and the number of
// rounds, if there are any.
func (r *report) sizes() (text string) {
	if len(r.Scale.Syncs) == 0 {
		text = fmt.Sprintf("%d pods, ", r.Pods)
	}
	if !r.Scale.measured() || len(r.Scale.Concurrent) > 0 {
		text += fmt.Sprintf("up to %d rounds, ", r.Rounds)
	}
	return text
}

func (r *report) printLists(out io.Writer) {
	if len(r.Lists) == 0 {
		return
	}
	t := newTable(out, "",
		"CPU ms/request", "", "", "", "first", "wall p50/p99 s", "", "", "MB, as", "", "peak RSS MB", "", "extra", "")
	t.row("", "apiserver", "sluice", "floor", "ratio", "sluice", "apiserver", "sluice", "floor",
		"apiserver", "sluice", "apiserver", "sluice", "sluice", "source")
	for _, l := range r.Lists {
		a, s, f := l.By[apiserverName], l.By[sluiceName], l.By[floorName]
		if a == nil {
			a = &listFigures{}
		}
		t.row(l.Case, cpu(a), cpu(s), cpu(f), ratio(a.CPU, s.CPU), millis(l.First),
			walls(a), walls(s), walls(f), size(a), size(s),
			megabytes(a.Peak), megabytes(s.Peak), fmt.Sprintf("%.1f", float64(l.Extra)/1e6), l.remark())
	}
	t.flush()
}

// remark returns the source and the note.
func (l *listLine) remark() string {
	if l.Note == "" {
		return l.Source
	}
	return l.Source + "; " + l.Note
}

func cpu(f *listFigures) string { return f.Spread.after(millis(f.CPU), "%.1f", 1e3) }

func walls(f *listFigures) string {
	if f.Requests == 0 {
		return none
	}
	return seconds(f.P50) + "/" + seconds(f.P99)
}

func size(f *listFigures) string {
	if f.Requests == 0 {
		return none
	}
	return megabytes(f.Bytes) + " " + f.Coding
}

func (r *report) printFanOuts(out io.Writer) {
	if len(r.FanOuts) == 0 {
		return
	}
	t := newTable(out, "",
		"CPU us/event", "", "", "", "clients'", "", "", "delay p50/p99 ms", "", "", "bytes/event", "", "peak RSS MB", "", "upstream", "update", "")
	t.row("", "apiserver", "sluice", "floor", "ratio", "apiserver", "sluice", "floor", "apiserver", "sluice", "floor",
		"apiserver", "sluice", "apiserver", "sluice", "watches", "CPU ms", "source")
	for _, l := range r.FanOuts {
		a, s, f := l.By[apiserverName], l.By[sluiceName], l.By[floorName]
		t.row(l.Case, a.cpuText(), s.cpuText(), f.cpuText(), ratio(a.CPU, s.CPU),
			micros(a.Client), micros(s.Client), micros(f.Client), delays(a), delays(s), delays(f),
			fmt.Sprintf("%.0f", a.Bytes), fmt.Sprintf("%.0f", s.Bytes), megabytes(a.Peak), megabytes(s.Peak),
			fmt.Sprintf("%d/%d", a.Watches, s.Watches), millis(l.Update), l.Source)
	}
	t.flush()
}

func (f *fanOutFigures) cpuText() string { return f.Spread.after(micros(f.CPU), "%.1f", 1e6) }

func delays(f *fanOutFigures) string { return millis(f.P50) + "/" + millis(f.P99) }

func (r *report) printLatencies(out io.Writer) {
	if len(r.Latencies) == 0 {
		return
	}
	t := newTable(out, "one at a time", "p50/p99 ms", "", "", "")
	t.row("", "apiserver", "sluice", "floor", "requests", "source")
	for _, l := range r.Latencies {
		a, s, f := l.By[apiserverName], l.By[sluiceName], l.By[floorName]
		t.row(l.Case, latency(a), latency(s), latency(f), fmt.Sprint(s.Requests), l.Source)
	}
	t.flush()
}

func latency(f *latencyFigures) string { return fmt.Sprintf("%.2f/%.2f", f.P50*1e3, f.P99*1e3) }

func (r *report) printGoals(out io.Writer) {
	t := newTable(out, "goals for the default sizes", "", "worst case", "", "")
	t.row("", "goal", "without updates", "with updates", "met")
	for _, g := range r.Goals {
		if g.Quiet == none && g.Busy == none {
			continue // not measured
		}
		t.row(g.Work, g.Want, g.Quiet, g.Busy, g.Met)
	}
	t.flush()
}

func (r *report) printIdle(out io.Writer) {
	if r.End.RSS == nil {
		return
	}
	t := newTable(out, "idle", "RSS MB", "", "CPU %", "")
	t.row("", "apiserver", "sluice", "apiserver", "sluice")
	for _, at := range []struct {
		name string
		idle
	}{{"after pods are created", r.Idle}, {"at the end", r.End}} {
		t.row(at.name, megabytes(at.RSS[apiserverName]), megabytes(at.RSS[sluiceName]),
			fmt.Sprintf("%.1f", 100*at.CPU[apiserverName]), fmt.Sprintf("%.1f", 100*at.CPU[sluiceName]))
	}
	t.flush()
}
