package main

import (
	"context"
	"fmt"
	"time"
)

// fanOut is one kind of watch, by so many watchers.
type fanOut struct {
	format
	watchers int
}

// fanOuts are all that were asked for.
func fanOuts(o *options) []fanOut {
	var all []fanOut
	for _, name := range o.watches {
		for _, n := range o.watchers {
			c := fanOut{formatOf(name), n}
			if o.only.matches(c.name()) {
				all = append(all, c)
			}
		}
	}
	return all
}

func (c fanOut) name() string { return fmt.Sprintf("watch %s x%d", c.format.name, c.watchers) }

// fanOut runs a case against all targets in alternating rounds, with updates that nobody watches among
// them.
func (b *bed) fanOut(ctx context.Context, c fanOut) (*fanOutLine, error) {
	progress("%s", c.name())
	for _, t := range b.targets {
		t.close() // watches find their connections empty
	}
	frame, err := b.sample(ctx, c)
	if err != nil {
		return nil, err
	}
	line := newFanOutLine(c, b, len(frame))
	for round := 0; round < b.rounds && !line.enough(); round++ {
		used, err := b.alone(ctx)
		if err != nil {
			return nil, err
		}
		line.alone = append(line.alone, used)
		for i := range b.targets {
			t := b.targets[(i+round)%len(b.targets)]
			got, err := b.watched(ctx, c, t, frame)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", t.name, err)
			}
			line.add(t.name, got)
		}
	}
	line.sum()
	return line, b.profile(ctx, c.name(), func(ctx context.Context) error {
		_, err := b.watched(ctx, c, b.gateway, frame)
		return err
	})
}

// alone is what the updates cost the control plane while nobody but Sluice watches.
func (b *bed) alone(ctx context.Context) (time.Duration, error) {
	m, err := b.meter()
	if err != nil {
		return 0, err
	}
	if _, err := b.pace(ctx, b.update); err != nil {
		return 0, err
	}
	used, err := m.read()
	if err != nil {
		return 0, err
	}
	return used.cpu[apiserverName], nil
}
