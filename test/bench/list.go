package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"sluice/test/harness"
)

// list runs a case against all targets in alternating rounds.
func (e *env) list(ctx context.Context, c listCase) (*listLine, error) {
	progress("%s", c.name())
	line := newListLine(c)
	if err := e.prepare(ctx, c, line); err != nil {
		return nil, err
	}
	targets := e.targetsOf(ctx, c, line)
	for round := 0; round < e.rounds && !line.enough(); round++ {
		if err := e.listRound(ctx, c, line, targets, round); err != nil {
			return nil, err
		}
	}
	line.summarize()
	return line, e.profile(ctx, c.name(), func(ctx context.Context) error {
		_, err := e.run(ctx, c, e.sluiceTarget, profileTime)
		return err
	})
}

// listRound runs the case against each target once. If the apiserver fails, the line gets a note
// instead of its figures, and later rounds skip it.
func (e *env) listRound(ctx context.Context, c listCase, line *listLine, targets []*target, round int) error {
	for i := range targets {
		t := targets[(i+round)%len(targets)]
		if t == e.apiserver && line.failed {
			continue
		}
		got, err := e.listBatch(ctx, c, t)
		switch {
		case err == nil:
			line.add(t.name, got)
		case t == e.apiserver && ctx.Err() == nil:
			line.fail(t.name, err)
		default:
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	return nil
}

// prepare connects all clients, sends Sluice the first request, and gives the floor its response.
func (e *env) prepare(ctx context.Context, c listCase, line *listLine) error {
	for _, t := range e.targets {
		if err := t.connect(ctx, c.clients); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	got, err := e.first(ctx, c, line)
	if err != nil {
		return err
	}
	if err := e.floor.put(ctx, floorBodyPath, got); err != nil || c.churn == 0 {
		return err
	}
	return e.measureUpdateCost(ctx)
}

// first measures and returns Sluice's first response in a case.
func (e *env) first(ctx context.Context, c listCase, line *listLine) (*harness.Response, error) {
	var err error
	if line.before, err = e.sluiceTarget.proc.resident(); err != nil {
		return nil, err
	}
	m, err := newMeter(e.background, e.targets...)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	got, err := e.get(ctx, c, e.sluiceTarget, 0, &text)
	if err != nil {
		return nil, err
	}
	used, err := m.read()
	if err != nil {
		return nil, err
	}
	line.First, line.firstPeak = used.cpu[sluiceName].Seconds(), used.peak[sluiceName]
	return &harness.Response{Header: got.header, Body: text.Bytes()}, nil
}

// listBatch runs the case against one target for a window.
func (e *env) listBatch(ctx context.Context, c listCase, t *target) (*listBatch, error) {
	before, err := readSources(e.sluice, c.verb())
	if err != nil {
		return nil, err
	}
	m, err := newMeter(e.background, e.targets...)
	if err != nil {
		return nil, err
	}
	r, err := e.runWithChurn(ctx, c, t)
	if err != nil {
		return nil, err
	}
	used, err := m.read()
	if err != nil {
		return nil, err
	}
	plane := max(0, used.cpu[apiserverName]-time.Duration(r.updates)*e.updateCost)
	r.cpu, r.peak = used.cpu[t.name], used.peak[t.name]
	switch t {
	case e.apiserver:
		r.cpu = plane
	case e.sluiceTarget:
		r.sources, err = sourcesSince(ctx, e.sluice, c.verb(), before, len(r.walls))
		if r.sources.passed() {
			r.cpu += plane
		}
	}
	return r, err
}

// runWithChurn runs the case for a window during the case's updates.
func (e *env) runWithChurn(ctx context.Context, c listCase, t *target) (*listBatch, error) {
	updates := startChurn(ctx, c.churn, e.update)
	r, err := e.run(ctx, c, t, e.window)
	n, failed := updates.stop()
	r.updates = n
	return r, errors.Join(err, failed)
}

// run has every client list repeatedly until the window ends.
func (e *env) run(ctx context.Context, c listCase, t *target, window time.Duration) (*listBatch, error) {
	var (
		r  listBatch
		mu sync.Mutex // guards r
	)
	walls, err := repeat(ctx, c.clients, window, func(ctx context.Context, client int) error {
		got, err := e.get(ctx, c, t, client, io.Discard)
		if err == nil {
			mu.Lock()
			defer mu.Unlock()
			r.bytes, r.coding = got.bytes, codingOf(got.header)
		}
		return err
	})
	r.walls = walls
	return &r, err
}

// listed describes one response.
type listed struct {
	bytes  int64 // of the body as sent
	header http.Header
}

// get lists once and copies the body as sent to a writer.
func (e *env) get(ctx context.Context, c listCase, t *target, client int, to io.Writer) (*listed, error) {
	raw, err := t.connection(client)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, responseLimit)
	defer cancel()
	resp, err := raw.Open(ctx, harness.Request{Path: c.path(t), Header: c.header()})
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, errors.New(resp.Status)
	}
	body := &countingReader{in: resp.Body, to: to}
	if c.streaming {
		err = c.readInitialEvents(body, codingOf(resp.Header), e.pods)
	} else {
		err = drain(body)
	}
	return &listed{body.n, resp.Header}, err
}

// readInitialEvents reads a streaming list and, like an informer, decompresses it.
func (c listCase) readInitialEvents(body io.Reader, coding string, objects int) error {
	in, release, err := decompress(body, coding)
	if err != nil {
		return err
	}
	defer release()
	return readInitialEvents(in, c.frames(), objects, 0)
}

// drain reads to the end with a larger buffer than io.Discard has.
func drain(r io.Reader) error {
	buf := make([]byte, 64<<10)
	for {
		if _, err := r.Read(buf); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// countingReader counts the bytes that are read and copies them to a writer.
type countingReader struct {
	in io.Reader
	to io.Writer
	n  int64
}

func (t *countingReader) Read(p []byte) (int, error) {
	n, err := t.in.Read(p)
	t.n += int64(n)
	if _, failed := t.to.Write(p[:n]); failed != nil {
		return n, failed
	}
	return n, err
}
