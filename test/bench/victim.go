package main

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"sluice/test/harness"
)

const (
	// victimEvery is the time between two requests of a victim, which do not wait for each other.
	victimEvery = 100 * time.Millisecond
	// victimLimit is how long one may take.
	victimLimit = 12 * time.Second
)

// victim is somebody whose requests an attack may delay.
type victim struct {
	name string
	// do sends the i-th request and returns its code.
	do func(ctx context.Context, i int) (int, error)
}

// victimFigures are the figures of the requests of a victim.
type victimFigures struct {
	P50      float64 `json:"p50Seconds"` // of those that succeeded
	P99      float64 `json:"p99Seconds"`
	Requests int     `json:"requests"`
	Failed   tally   `json:"failed"` // by code or error

	walls []time.Duration // of those that succeeded
}

// watch sends requests for a while, and returns when all have been answered.
func (v victim) watch(ctx context.Context, during time.Duration) *victimFigures {
	f := &victimFigures{Failed: tally{}}
	var mu sync.Mutex // guards f
	one := func(i int) {
		ctx, cancel := context.WithTimeout(ctx, victimLimit)
		defer cancel()
		start := time.Now()
		code, err := v.do(ctx, i)
		wall := time.Since(start)
		mu.Lock()
		defer mu.Unlock()
		f.Requests++
		switch {
		case err != nil && ctx.Err() != nil:
			f.Failed["no answer"]++
		case err != nil:
			f.Failed["no connection"]++
		case code >= http.StatusBadRequest:
			f.Failed[fmt.Sprint(code)]++
		default:
			f.walls = append(f.walls, wall)
		}
	}
	var running sync.WaitGroup
	for i := range int(during / victimEvery) {
		running.Go(func() { one(i) })
		if sleep(ctx, victimEvery) != nil {
			break
		}
	}
	running.Wait()
	f.summarize()
	return f
}

func (f *victimFigures) summarize() {
	if len(f.walls) > 0 {
		f.P50, f.P99 = percentile(f.walls, 50).Seconds(), percentile(f.walls, 99).Seconds()
	}
}

// add adds the figures of another time.
func (f *victimFigures) add(other *victimFigures) {
	f.Requests += other.Requests
	f.walls = append(f.walls, other.walls...)
	for reason, n := range other.Failed {
		f.Failed[reason] += n
	}
	f.summarize()
}

// failed returns how many requests failed, and how.
func (f *victimFigures) failed() string {
	if len(f.Failed) == 0 {
		return none
	}
	return fmt.Sprintf("%.0f of %d: %s", f.Failed.total(), f.Requests, f.Failed.reasons())
}

// latency returns the percentiles of those that succeeded.
func (f *victimFigures) latency() string {
	if f.P50 == 0 {
		return none
	}
	return millis(f.P50) + "/" + millis(f.P99)
}

// requests returns a victim that sends requests over one connection.
func requests(name string, raw *harness.RawClient, request func(i int) harness.Request) victim {
	return victim{name, func(ctx context.Context, i int) (int, error) {
		resp, err := raw.Do(ctx, request(i))
		if err != nil {
			return 0, err
		}
		return resp.Status, nil
	}}
}

// patches returns requests that change objects in turn. The format of the patch has a place for the time.
func patches(paths []string, format string) func(i int) harness.Request {
	return func(i int) harness.Request {
		return harness.Request{
			Method: http.MethodPatch, Path: paths[i%len(paths)], Body: fmt.Appendf(nil, format, time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")),
			Header: http.Header{"Content-Type": {"application/merge-patch+json"}},
		}
	}
}
