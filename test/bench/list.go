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

	"golang.org/x/sync/errgroup"

	"sluice/test/harness"
)

// list runs a case against all targets in alternating rounds.
func (b *bed) list(ctx context.Context, c listCase) (*listLine, error) {
	progress("%s", c.name())
	line := newListLine(c)
	if err := b.prepare(ctx, c, line); err != nil {
		return nil, err
	}
	targets := b.asked(ctx, c, line)
	for round := 0; round < b.rounds && !line.enough(); round++ {
		if err := b.listRound(ctx, c, line, targets, round); err != nil {
			return nil, err
		}
	}
	line.sum()
	return line, b.profile(ctx, c.name(), func(ctx context.Context) error {
		_, err := b.run(ctx, c, b.gateway, profileTime)
		return err
	})
}

// listRound runs the case against each target once. An apiserver that could not do it is left out of
// the line, with a note, and not asked again.
func (b *bed) listRound(ctx context.Context, c listCase, line *listLine, targets []*target, round int) error {
	for i := range targets {
		t := targets[(i+round)%len(targets)]
		if t == b.apiserver && line.failed {
			continue
		}
		got, err := b.batch(ctx, c, t)
		switch {
		case err == nil:
			line.add(t.name, got)
		case t == b.apiserver && ctx.Err() == nil:
			line.fail(t.name, err)
		default:
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	return nil
}

// prepare connects all clients, warms Sluice up, and gives the floor what it answers.
func (b *bed) prepare(ctx context.Context, c listCase, line *listLine) error {
	for _, t := range b.targets {
		if err := c.connect(ctx, t); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	got, err := b.first(ctx, c, line)
	if err != nil {
		return err
	}
	if err := b.floor.put(ctx, floorBodyPath, got); err != nil || c.churn == 0 {
		return err
	}
	return b.priceUpdates(ctx)
}

// first is Sluice's first answer in a case.
func (b *bed) first(ctx context.Context, c listCase, line *listLine) (*harness.Response, error) {
	var err error
	if line.before, err = b.gateway.proc.resident(); err != nil {
		return nil, err
	}
	m, err := b.meter()
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	got, err := b.get(ctx, c, b.gateway, 0, &text)
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

// connect makes each client's connection, with a request that costs nothing.
func (c listCase) connect(ctx context.Context, t *target) error {
	for i := range c.clients {
		raw, err := t.connection(i)
		if err != nil {
			return err
		}
		if _, err := raw.Get(ctx, "/version", "*/*"); err != nil {
			return err
		}
	}
	return nil
}

// batch runs the case against one target for a window.
func (b *bed) batch(ctx context.Context, c listCase, t *target) (*batch, error) {
	before, err := b.answers(c.verb())
	if err != nil {
		return nil, err
	}
	m, err := b.meter()
	if err != nil {
		return nil, err
	}
	r, err := b.runWithChurn(ctx, c, t)
	if err != nil {
		return nil, err
	}
	used, err := m.read()
	if err != nil {
		return nil, err
	}
	plane := max(0, used.cpu[apiserverName]-time.Duration(r.updates)*b.updateCost)
	r.cpu, r.peak = used.cpu[t.name], used.peak[t.name]
	switch t {
	case b.apiserver:
		r.cpu = plane
	case b.gateway:
		r.how, err = b.answered(ctx, c.verb(), before, len(r.walls))
		if r.how.passed() {
			r.cpu += plane
		}
	}
	return r, err
}

// runWithChurn runs the case for a window while the updates go on that belong to it.
func (b *bed) runWithChurn(ctx context.Context, c listCase, t *target) (*batch, error) {
	updates := b.churn(ctx, c.churn)
	r, err := b.run(ctx, c, t, b.window)
	n, failed := updates.stop()
	r.updates = n
	return r, errors.Join(err, failed)
}

// run lets all clients list again and again until the window is over; each does once at least.
func (b *bed) run(ctx context.Context, c listCase, t *target, window time.Duration) (*batch, error) {
	var (
		r     batch
		mu    sync.Mutex // guards r
		end   = time.Now().Add(window)
		g, gc = errgroup.WithContext(ctx)
	)
	for i := range c.clients {
		g.Go(func() error {
			for {
				got, err := b.get(gc, c, t, i, io.Discard)
				if err != nil {
					return err
				}
				mu.Lock()
				r.walls = append(r.walls, got.wall)
				r.bytes, r.coding = got.bytes, codingOf(got.header)
				mu.Unlock()
				if !time.Now().Before(end) {
					return nil
				}
			}
		})
	}
	return &r, g.Wait()
}

// listed is what one request was answered with.
type listed struct {
	wall   time.Duration
	bytes  int64 // as they came, compressed or not
	header http.Header
}

// get lists once, and copies the body as it comes.
func (b *bed) get(ctx context.Context, c listCase, t *target, client int, to io.Writer) (*listed, error) {
	raw, err := t.connection(client)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, stateLimit)
	defer cancel()
	start := time.Now()
	resp, err := raw.Open(ctx, harness.Request{Path: c.path(t), Header: c.header()})
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, errors.New(resp.Status)
	}
	body := &tally{in: resp.Body, to: to}
	if c.streaming {
		err = c.readState(body, codingOf(resp.Header), b.pods)
	} else {
		err = drain(body)
	}
	return &listed{time.Since(start), body.n, resp.Header}, err
}

// readState reads a streaming list as an informer has to: what is compressed is decompressed.
func (c listCase) readState(body io.Reader, coding string, objects int) error {
	in, release, err := decoded(body, coding)
	if err != nil {
		return err
	}
	defer release()
	return readState(in, c.frames(), objects)
}

// drain reads to the end in larger pieces than io.Discard does.
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

// tally counts and copies what is read.
type tally struct {
	in io.Reader
	to io.Writer
	n  int64
}

func (t *tally) Read(p []byte) (int, error) {
	n, err := t.in.Read(p)
	t.n += int64(n)
	if _, failed := t.to.Write(p[:n]); failed != nil {
		return n, failed
	}
	return n, err
}
