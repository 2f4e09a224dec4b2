package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// measured reports whether any section was.
func (r *scaleReport) measured() bool { return len(r.Syncs)+len(r.Watches) > 0 }

// print writes the tables of the sections that were measured.
func (r *scaleReport) print(out io.Writer) {
	r.printSyncs(out)
	r.printReads(out)
	r.printFeeds(out)
	r.printConcurrent(out)
	r.printMemory(out)
	r.printWatches(out)
}

func (r *scaleReport) printSyncs(out io.Writer) {
	if len(r.Syncs) == 0 {
		return
	}
	t := newTable(out, "in sync", "seconds", "CPU s", "upstream CPU s", "data MB", "RSS MB", "peak", "bytes of RSS per object")
	for _, l := range r.Syncs {
		t.row(fmt.Sprintf("%d %s", l.Objects, l.Resource), fmt.Sprintf("%.1f", l.Seconds), fmt.Sprintf("%.1f", l.CPU), fmt.Sprintf("%.1f", l.Upstream),
			megabytes(l.Data), megabytes(l.Resident), megabytes(l.Peak), fmt.Sprint(l.Resident/int64(l.Objects)))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Idle.RSS)) {
		t.row(name+", all", "", "", "", "", megabytes(r.Idle.RSS[name]))
	}
	t.flush()
}

func (r *scaleReport) printReads(out io.Writer) {
	if len(r.Reads) == 0 {
		return
	}
	t := newTable(out, "reads", "p50/p90/p99 ms", "", "CPU ms/request", "", "", "first", "MB, as sent", "")
	t.row("", apiserverName, sluiceName, apiserverName, sluiceName, "ratio", sluiceName, "", "source")
	for _, l := range r.Reads {
		a, s := l.By[apiserverName], l.By[sluiceName]
		t.row(l.Case, a.walls(), s.walls(), millis(a.CPU), fmt.Sprintf("%.2f", 1e3*s.CPU), ratio(a.CPU, s.CPU), millis(s.First), megabytes(s.Bytes), s.Source)
	}
	t.flush()
}

func (f *scaleReadFigures) walls() string {
	return fmt.Sprintf("%.1f/%.1f/%.1f", 1e3*f.P50, 1e3*f.P90, 1e3*f.P99)
}

func (r *scaleReport) printFeeds(out io.Writer) {
	if len(r.Feeds) == 0 {
		return
	}
	t := newTable(out, "feed, events/s", "written/s", "behind at the end, s", "CPU us/event", "control plane's", "")
	for _, l := range r.Feeds {
		t.row(fmt.Sprintf("%d to the %s", l.Rate, l.Target), fmt.Sprintf("%.0f", l.Written), fmt.Sprintf("%.2f", l.Behind),
			micros(l.CPU), micros(l.Plane), l.Failed)
	}
	t.flush()
}

func (r *scaleReport) printConcurrent(out io.Writer) {
	if len(r.Concurrent) == 0 {
		return
	}
	t := newTable(out, "lists at once", "", "MB each", "seconds", "CPU s", "peak RSS MB")
	for _, l := range r.Concurrent {
		t.row(fmt.Sprintf("%d at the %s", l.Lists, l.Target), l.Format, megabytes(l.Bytes), l.SecondsSpread.after(fmt.Sprintf("%.1f", l.Seconds), "%.1f", 1),
			l.CPUSpread.after(fmt.Sprintf("%.1f", l.CPU), "%.1f", 1), megabytes(l.Peak))
	}
	t.flush()
}

func (r *scaleReport) printMemory(out io.Writer) {
	if len(r.Memory) == 0 {
		return
	}
	t := newTable(out, "memory", "after", "JSON MB", "RSS MB", "of JSON", "peak", "by kind, MB")
	for _, l := range r.Memory {
		var kinds []string
		for _, kind := range slices.Sorted(maps.Keys(l.Kinds)) {
			kinds = append(kinds, fmt.Sprintf("%s %.0f", kind, l.Kinds[kind]/1e6))
		}
		t.row(fmt.Sprintf("%d %s", l.Objects, l.Resource), l.After, megabytes(l.JSON), megabytes(l.Resident), fmt.Sprintf("%.2f", float64(l.Resident)/float64(l.JSON)),
			megabytes(l.Peak), strings.Join(kinds, ", "))
	}
	t.flush()
}

func (r *scaleReport) printWatches(out io.Writer) {
	if len(r.Watches) == 0 {
		return
	}
	t := newTable(out, "watches", "not reading", "delay p50/p99 ms", "beside those", "p99", "CPU us/event", "beside those", "peak RSS MB")
	for _, l := range r.Watches {
		t.row(fmt.Sprintf("%d at the %s", l.Watches, l.Target), fmt.Sprint(l.Stalled), l.Without.walls(), l.With.walls(),
			fmt.Sprintf("%.2fx", l.moved()), micros(l.Without.CPU), micros(l.With.CPU), megabytes(l.Peak))
	}
	t.flush()
}

func (f *delayFigures) walls() string { return millis(f.P50) + "/" + millis(f.P99) }
