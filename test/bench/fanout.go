package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"sluice/codec/splice"
	"sluice/test/harness"
)

// fanOut is a case of many watches of all pods in one format and content encoding.
type fanOut struct {
	format
	encoding string
	watchers int
}

// fanOuts returns the cases that the options select.
func fanOuts(o *options) []fanOut {
	var all []fanOut
	for _, name := range o.watches {
		for _, encoding := range o.watchEncodes {
			for _, n := range o.watchers {
				c := fanOut{formatOf(name), encoding, n}
				if o.only.matches(c.name()) {
					all = append(all, c)
				}
			}
		}
	}
	return all
}

func (c fanOut) name() string {
	return fmt.Sprintf("watch %s %s x%d", c.format.name, c.encoding, c.watchers)
}

// fanOut runs a case against all targets in alternating rounds. Each round also measures updates
// without watchers.
func (e *env) fanOut(ctx context.Context, c fanOut) (*fanOutLine, error) {
	progress("%s", c.name())
	for _, t := range e.targets {
		t.close() // so that each connection carries only watches of this case
	}
	frame, err := e.sample(ctx, c)
	if err != nil {
		return nil, err
	}
	line := newFanOutLine(c, e, len(frame))
	if frame, err = e.prepareFloor(ctx, c, frame); err != nil {
		return nil, err
	}
	for round := 0; round < e.rounds && !line.enough(); round++ {
		used, err := e.updatesAlone(ctx, e.update)
		if err != nil {
			return nil, err
		}
		line.alone = append(line.alone, used)
		for i := range e.targets {
			t := e.targets[(i+round)%len(e.targets)]
			got, err := e.fanOutBatch(ctx, c, t, frame)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", t.name, err)
			}
			line.add(t.name, got)
		}
	}
	line.summarize()
	return line, e.profile(ctx, c.name(), func(ctx context.Context) error {
		_, err := e.fanOutBatch(ctx, c, e.sluiceTarget, frame)
		return err
	})
}

// prepareFloor makes the floor's watches begin in the encoding of the case, and returns the frame in it.
func (e *env) prepareFloor(ctx context.Context, c fanOut, frame []byte) ([]byte, error) {
	if c.encoding == identity {
		return frame, e.floor.put(ctx, floorWatch, &harness.Response{})
	}
	begin := harness.Response{
		Header: http.Header{"Content-Encoding": {c.encoding}}, Body: splice.NewStream(splice.Gzip).Begin(nil),
	}
	block := splice.Gzip.Compress(nil, frame)
	return block.Data, e.floor.put(ctx, floorWatch, &begin)
}

// updatesAlone returns the control plane's CPU for a round of updates while only Sluice watches.
func (e *env) updatesAlone(ctx context.Context, update func(context.Context) error) (time.Duration, error) {
	m, err := newMeter(e.background, e.targets...)
	if err != nil {
		return 0, err
	}
	if _, err := e.pace(ctx, update); err != nil {
		return 0, err
	}
	used, err := m.read()
	if err != nil {
		return 0, err
	}
	return used.cpu[apiserverName], nil
}
