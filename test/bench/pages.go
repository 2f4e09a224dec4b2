package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"sluice/test/harness"
)

const (
	// readersOfPages have the overview open at the same time, and agentsOnPages are the clients beside them.
	readersOfPages, agentsOnPages = 100, 200
	// reopenAfter is how long a browser waits after Sluice has ended a stream, every 30 s, as Sluice tells it to.
	reopenAfter = 500 * time.Millisecond
)

// statusPages measures what a Sluice with a controller of many kinds, and as many clients, uses while nothing happens,
// without and with open status pages.
func (w *world) statusPages(ctx context.Context, r *report) {
	token := w.defineKinds(ctx)
	w.withSluice(harness.SluiceOptions{}, func(t *target) {
		c := w.startController(ctx, t, token)
		defer c.end()
		w.served(ctx, t.sluice)
		for i := range agentsOnPages {
			header := withBearer(token, "").Header
			header.Set("User-Agent", fmt.Sprintf("agent-%d/v1.0", i))
			path := fmt.Sprintf("/apis/%s/%s/%s?resourceVersion=0", kindAt(0).Group, kindsVersion, kindAt(0).Resource)
			must(t.connection(0).Do(ctx, harness.Request{Path: path, Header: header}))
		}
		for _, n := range []int{0, readersOfPages} {
			progress("%d open pages", n)
			r.add(w.openPages(ctx, t, n))
		}
	})
}

// openPages measures a Sluice with n open pages.
func (w *world) openPages(ctx context.Context, t *target, n int) *row {
	reading, end := context.WithCancel(ctx)
	defer end()
	g, reading := newGroup(reading, -1)
	var open atomic.Int64
	for range n {
		g.run(func() {
			for readPage(reading, t.sluice.Admin, &open); slept(reading, reopenAfter); {
				readPage(reading, t.sluice.Admin, &open)
			}
		})
	}
	if !poll(ctx, 100*time.Millisecond, syncLimit, func() bool { return open.Load() == int64(n) }) {
		check(fmt.Errorf("%d of %d pages are open", open.Load(), n))
	}
	sleep(ctx, min(warmUp, w.idle))
	r := newRow(idleTable, fmt.Sprintf("%d kinds, %d clients, %d open pages", w.kinds, agentsOnPages, n))
	r.By = measureIdle(ctx, w.idle, w.apiserver, t)
	end()
	g.wait()
	return r
}

// readPage reads the newer values of a page until Sluice ends the stream, and counts it while it is open.
func readPage(ctx context.Context, admin string, open *atomic.Int64) {
	q := must(http.NewRequestWithContext(ctx, http.MethodGet, admin+"/see/live?page=overview", nil))
	resp, err := http.DefaultTransport.RoundTrip(q)
	if ctx.Err() != nil {
		return
	}
	check(err)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		check(fmt.Errorf("an open page has the answer %s", resp.Status))
	}
	open.Add(1)
	defer open.Add(-1)
	n, err := io.Copy(io.Discard, resp.Body) // it ends, by Sluice or with the measurement
	if ctx.Err() == nil && n == 0 {
		check(errors.Join(errors.New("an open page has no values"), err))
	}
}
