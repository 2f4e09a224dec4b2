package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"golang.org/x/term"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"sluice/test/harness"
)

const (
	// refresh is the time between two updates of the counters on a terminal, logInterval between two prints
	// elsewhere.
	refresh     = time.Second
	logInterval = 10 * time.Second

	cpuSeconds  = "process_cpu_seconds_total"
	memoryBytes = "process_resident_memory_bytes"
)

// counters are the metrics of the two servers.
type counters struct {
	costs             costs
	sluice, apiserver harness.Metrics
	scraped           time.Time // last scrape of the apiserver
}

// String returns a table: what clients ask of Sluice, beside what Sluice asks of the apiserver for it.
func (c *counters) String() string {
	sum := func(name string) string { return number(c.sluice.Sum(name)) }
	var table strings.Builder
	for _, row := range [][3]string{
		{"", "Sluice", "apiserver"},
		{"requests", sum("sluice_request_total"), sum("sluice_upstream_requests_total")},
		{"open watches", sum("sluice_watchers"), sum("sluice_upstream_watches")},
		{"events", sum("sluice_watch_events_total"), sum("sluice_store_received_total")},
		{"CPU for a list of all pods", milliseconds(c.costs.sluice), milliseconds(c.costs.apiserver)},
		{"memory", memory(c.sluice), memory(c.apiserver)},
	} {
		fmt.Fprintf(&table, "%-26s %12s %12s\n", row[0], row[1], row[2])
	}
	return strings.TrimSuffix(table.String(), "\n")
}

func memory(m harness.Metrics) string {
	return number(m.Sum(memoryBytes)/1e6) + " MB"
}

func milliseconds(d time.Duration) string {
	return english.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
}

var english = message.NewPrinter(language.English)

// number formats a number with separators: 12,345.
func number[T int | float64](n T) string { return english.Sprintf("%d", int64(n)) }

// readCounters scrapes Sluice, and the apiserver only every logInterval because its page is long.
func (d *demo) readCounters(ctx context.Context, last *counters) error {
	var err error
	if last.sluice, err = d.sluice.Metrics(); err != nil {
		return fmt.Errorf("metrics of Sluice: %w", err)
	}
	if time.Since(last.scraped) < logInterval {
		return nil
	}
	if last.apiserver, err = d.apiserverMetrics(ctx); err != nil {
		return fmt.Errorf("metrics of the apiserver: %w", err)
	}
	last.scraped = time.Now()
	return nil
}

// showCounters prints the counters until the demo ends.
func (d *demo) showCounters(ctx context.Context, costs costs) error {
	interval := logInterval
	if d.terminal() {
		interval = refresh
	}
	c, rows := &counters{costs: costs}, 0
	for wait := refresh; pause(ctx, wait); wait = interval { // the first table appears soon
		text := ""
		if err := d.readCounters(ctx, c); err == nil {
			text = c.String()
		} else {
			text = err.Error() // guard ends the demo if a server has exited
		}
		rows = d.show(text, rows)
	}
	return ctx.Err()
}

func (d *demo) terminal() bool { return term.IsTerminal(int(d.out.Fd())) }

// show prints a text and returns the number of its rows; on a terminal it replaces the rows before.
func (d *demo) show(text string, before int) (rows int) {
	lines := strings.Split(text, "\n")
	if !d.terminal() {
		fmt.Fprintln(d.out, text)
		return len(lines)
	}
	if before > 0 {
		fmt.Fprintf(d.out, "\x1b[%dA\x1b[J", before)
	}
	width, _, err := term.GetSize(int(d.out.Fd()))
	for _, line := range lines {
		if err == nil && len(line) >= width {
			line = line[:max(width-1, 0)]
		}
		fmt.Fprintln(d.out, line)
	}
	return len(lines)
}
