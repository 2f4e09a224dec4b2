package main

import (
	"context"
	"fmt"
)

// heldLimit is the memory that the lists of one case may take at the apiserver: half of a machine of
// 24 GB, which the clients and the other servers share.
const heldLimit = 12 << 30

// asked returns the targets of a case's rounds. The apiserver is not among them if that would take too
// much memory, or too long; what the line then says of it is noted there.
func (b *bed) asked(ctx context.Context, c listCase, line *listLine) []*target {
	needs := c.held * int64(b.pods) * int64(c.clients)
	if c.costly {
		needs /= int64(c.clients)
	}
	others := []*target{b.gateway, b.ground}
	switch {
	case needs > heldLimit:
		line.Note = fmt.Sprintf("apiserver not asked: %d GB", needs>>30)
		return others
	case c.costly:
		if figures := b.askOnce(ctx, c); figures != nil {
			line.By[apiserverName] = figures
			line.Note = "apiserver asked for one, uncompressed, quiet"
		} else {
			line.Note = "apiserver failed"
		}
		return others
	}
	return b.targets
}

// askOnce asks the apiserver for one list in the format, if it has not been asked yet in this run. It
// returns nil if the apiserver could not do it.
func (b *bed) askOnce(ctx context.Context, c listCase) *listFigures {
	if f, asked := b.once[c.format.name]; asked {
		return f
	}
	b.once[c.format.name] = nil
	one := listCase{format: c.format, encoding: identity, clients: 1}
	got, err := b.batch(ctx, one, b.apiserver)
	if err != nil {
		progress("%s: apiserver: %v", one.name(), err)
		return nil
	}
	line := newListLine(one)
	line.add(apiserverName, got)
	line.sum()
	f := line.By[apiserverName]
	f.rounds = nil // no rounds of the lines that show it
	b.once[c.format.name] = f
	return f
}
