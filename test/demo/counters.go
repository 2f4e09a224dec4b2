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
	// refresh is how often the line changes on a terminal, and logInterval how often there is a new
	// one elsewhere.
	refresh     = time.Second
	logInterval = 10 * time.Second
)

// counters are what the two servers count.
type counters struct {
	sluice, apiserver harness.Metrics
	asked             time.Time // when the apiserver was
}

// String puts them in one line.
func (c *counters) String() string {
	requests := func(source string) string {
		return number(c.sluice.Sum("sluice_request_total", "source="+source))
	}
	return fmt.Sprintf("requests %s cached %s passed | watches %s out of %s | events %s in %s out | objects %s | memory sluice %s apiserver %s",
		requests("cache"), requests("upstream"),
		number(c.sluice.Sum("sluice_watchers")), number(c.sluice.Sum("sluice_upstream_watches")),
		number(c.sluice.Sum("sluice_store_received_total")), number(c.sluice.Sum("sluice_watch_events_total")),
		number(c.sluice.Sum("sluice_store_objects")), memory(c.sluice), memory(c.apiserver))
}

func memory(m harness.Metrics) string {
	return number(m.Sum("process_resident_memory_bytes")/1e6) + " MB"
}

var english = message.NewPrinter(language.English)

// number prints a number for readers: 12,345.
func number[T int | float64](n T) string { return english.Sprintf("%d", int64(n)) }

// readCounters asks Sluice, and the apiserver if what it said last is old: its page is long.
func (d *demo) readCounters(ctx context.Context, last *counters) error {
	var err error
	if last.sluice, err = d.sluice.Metrics(); err != nil {
		return fmt.Errorf("metrics of Sluice: %w", err)
	}
	if time.Since(last.asked) < logInterval {
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
	last.asked = time.Now()
	return nil
}

// showCounters shows the counters until the demo is over.
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
	for wait := refresh; pause(ctx, wait); wait = interval { // soon at first: the crowd takes a moment
		if err := d.readCounters(ctx, c); err != nil {
			d.show(err.Error()) // guard ends the demo if a server is gone
			continue
		}
		d.show(c.String())
	}
	return context.Cause(ctx)
}

func (d *demo) terminal() bool { return term.IsTerminal(int(d.out.Fd())) }

// show prints a line: on a terminal in the place of the one before, cut to one row.
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
