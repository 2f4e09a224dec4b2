package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/term"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"sluice/test/harness"
)

const (
	// refresh is the time between two updates of the line on a terminal, logInterval between two lines
	// elsewhere.
	refresh     = time.Second
	logInterval = 10 * time.Second
)

// counters are the metrics of the two servers.
type counters struct {
	sluice, apiserver harness.Metrics
	scraped           time.Time // last scrape of the apiserver
}

// String formats the counters as one line.
func (c *counters) String() string {
	requests := func(source string) string {
		return number(c.sluice.Sum("sluice_request_total", "source="+source))
	}
	return fmt.Sprintf("requests %s cached %s passed | watches %s from %s upstream | events %s in %s out | objects %s | memory sluice %s apiserver %s",
		requests("cache"), requests("upstream"),
		number(c.sluice.Sum("sluice_watchers")), number(c.sluice.Sum("sluice_upstream_watches")),
		number(c.sluice.Sum("sluice_store_received_total")), number(c.sluice.Sum("sluice_watch_events_total")),
		number(c.sluice.Sum("sluice_store_objects")), memory(c.sluice), memory(c.apiserver))
}

func memory(m harness.Metrics) string {
	return number(m.Sum("process_resident_memory_bytes")/1e6) + " MB"
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
	answer, err := d.plane.Raw("admin").Get(ctx, "/metrics", "*/*")
	if err == nil && answer.Status != http.StatusOK {
		err = fmt.Errorf("status %d", answer.Status)
	}
	if err == nil {
		last.apiserver, err = harness.ParseMetrics(bytes.NewReader(answer.Body))
	}
	if err != nil {
		return fmt.Errorf("metrics of the apiserver: %w", err)
	}
	last.scraped = time.Now()
	return nil
}

// showCounters prints the counters until the demo ends.
func (d *demo) showCounters(ctx context.Context) error {
	if d.options.length > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, d.options.length, errOver)
		defer cancel()
	}
	interval := logInterval
	if d.terminal() {
		interval = refresh
		defer fmt.Fprintln(d.out)
	}
	c := new(counters)
	for wait := refresh; pause(ctx, wait); wait = interval { // the first line appears soon
		if err := d.readCounters(ctx, c); err != nil {
			d.show(err.Error()) // guard ends the demo if a server has exited
			continue
		}
		d.show(c.String())
	}
	return context.Cause(ctx)
}

func (d *demo) terminal() bool { return term.IsTerminal(int(d.out.Fd())) }

// show prints a line; on a terminal it replaces the line before and fits one row.
func (d *demo) show(line string) {
	if !d.terminal() {
		fmt.Fprintln(d.out, line)
		return
	}
	if width, _, err := term.GetSize(int(d.out.Fd())); err == nil && len(line) >= width {
		line = line[:max(width-1, 0)]
	}
	fmt.Fprint(d.out, "\r\x1b[K", line)
}
