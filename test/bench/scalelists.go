package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"sluice/test/harness"
)

// concurrentLists is how many lists run at once in the section "lists", as in the load test of Kubernetes.
const concurrentLists = 10

// scaleOfLists measures concurrent lists of large ConfigMaps in every format that whole objects have.
func scaleOfLists(ctx context.Context, o *options, r *scaleReport) error {
	maps := largeConfigMaps(o.large)
	e, err := newScaleEnv(ctx, o, scaleLists, maps)
	defer e.close()
	if err != nil {
		return err
	}
	line, err := e.sync(ctx, maps)
	if err != nil {
		return err
	}
	r.Syncs = append(r.Syncs, line)
	for _, t := range []*target{e.sluiceTarget, e.apiserver} { // the apiserver keeps a large heap
		for _, name := range []string{"json", "protobuf", "cbor", "yaml"} {
			f := formatOf(name)
			if !o.only.matches(name) || t == e.apiserver && f.apiserverMemory > formatOf("json").apiserverMemory {
				continue // it would need tens of gigabytes
			}
			line, err := e.concurrent(ctx, t, f, maps.path+"?resourceVersion=0")
			if err != nil {
				return fmt.Errorf("%s, %s: %w", t.name, name, err)
			}
			r.Concurrent = append(r.Concurrent, line)
		}
	}
	return nil
}

// concurrent lists at a target in rounds, each client once in each.
func (e *scaleEnv) concurrent(ctx context.Context, t *target, f format, path string) (*concurrentLine, error) {
	progress("%d lists in %s at the %s", concurrentLists, f.name, t.name)
	if err := t.connect(ctx, concurrentLists); err != nil {
		return nil, err
	}
	line := &concurrentLine{Target: t.name, Format: f.name, Lists: concurrentLists}
	var walls, cpus []float64
	for range e.rounds {
		r, err := e.concurrentRound(ctx, t, f, path)
		if err != nil {
			return nil, err
		}
		walls, cpus = append(walls, r.wall.Seconds()), append(cpus, r.cpu[t.name].Seconds())
		line.Bytes, line.Peak = r.bytes, max(line.Peak, r.peak[t.name])
	}
	line.Seconds, line.SecondsSpread = median(walls), spreadOf(walls)
	line.CPU, line.CPUSpread = median(cpus), spreadOf(cpus)
	return line, nil
}

// concurrentRound is a round of concurrent lists.
type concurrentRound struct {
	*usage
	wall  time.Duration
	bytes int64 // of one list
}

func (e *scaleEnv) concurrentRound(ctx context.Context, t *target, f format, path string) (*concurrentRound, error) {
	m, err := newMeter(e.background, e.targets()...)
	if err != nil {
		return nil, err
	}
	var r concurrentRound
	var mu sync.Mutex // guards r
	begin := time.Now()
	_, err = repeat(ctx, concurrentLists, 0, func(ctx context.Context, client int) error {
		n, err := listOnce(ctx, t.connections[client], path, http.Header{"Accept": {f.accept}})
		mu.Lock()
		defer mu.Unlock()
		r.bytes = n
		return err
	})
	if err != nil {
		return nil, err
	}
	r.wall = time.Since(begin)
	r.usage, err = m.read()
	return &r, err
}

// listOnce reads one response and returns its length.
func listOnce(ctx context.Context, raw *harness.RawClient, path string, header http.Header) (int64, error) {
	resp, err := raw.Open(ctx, harness.Request{Path: path, Header: header})
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("%s", resp.Status)
	}
	body := &countingReader{in: resp.Body, to: io.Discard}
	err = drain(body)
	return body.n, err
}
