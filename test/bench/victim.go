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
	do func(ctx context.Context, i int) int
}

// watch sends requests for a while, and returns when all have been answered.
func (v victim) watch(ctx context.Context, during time.Duration) *figures {
	f := &figures{Counts: tally{}}
	var mu sync.Mutex // guards f and walls
	var walls []time.Duration
	one := func(i int) {
		ctx, cancel := context.WithTimeout(ctx, victimLimit)
		defer cancel()
		start := time.Now()
		code := 0
		err := try(func() { code = v.do(ctx, i) })
		wall := time.Since(start)
		mu.Lock()
		defer mu.Unlock()
		f.Requests++
		switch {
		case err != nil && ctx.Err() != nil:
			f.Counts["no answer"]++
		case err != nil:
			f.Counts["no connection"]++
		case code >= http.StatusBadRequest:
			f.Counts[fmt.Sprint(code)]++
		default:
			walls = append(walls, wall)
		}
	}
	var running sync.WaitGroup
	for i := range int(during / victimEvery) {
		running.Go(func() { one(i) })
		if !slept(ctx, victimEvery) {
			break
		}
	}
	running.Wait()
	f.Requests -= len(walls) // which timed adds
	f.timed(walls)
	return f
}

// add adds the figures of another time.
func (f *figures) add(other *figures) {
	failed := other.Requests - len(other.walls)
	f.timed(other.walls)
	f.Requests += failed
	f.Counts.add(other.Counts)
}

// requests returns a victim that sends requests over one connection.
func requests(name string, raw *harness.RawClient, request func(i int) harness.Request) victim {
	return victim{name, func(ctx context.Context, i int) int { return must(raw.Do(ctx, request(i))).Status }}
}
