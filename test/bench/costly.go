package main

import (
	"context"
	"fmt"
)

// memoryLimit bounds the memory that the lists of one case may take in the apiserver: half of a 24
// GB machine, which the clients and the other servers share.
const memoryLimit = 12 << 30

// targetsOf returns the targets of a case's rounds. It leaves the apiserver out if the lists would
// take too much of its memory or too long, and sets the line's note.
func (e *env) targetsOf(ctx context.Context, c listCase, line *listLine) []*target {
	needs := c.apiserverMemory * int64(e.pods) * int64(c.clients)
	if c.costly {
		needs /= int64(c.clients)
	}
	others := []*target{e.sluiceTarget, e.floorTarget}
	switch {
	case needs > memoryLimit:
		line.Note = fmt.Sprintf("apiserver skipped: needs %d GB", needs>>30)
		return others
	case c.costly:
		if figures := e.measureOnce(ctx, c); figures != nil {
			line.By[apiserverName] = figures
			line.Note = "apiserver: one request, uncompressed, without updates"
		} else {
			line.Note = "apiserver failed"
		}
		return others
	}
	return e.targets
}

// measureOnce measures one list in the format at the apiserver, once per run. It returns nil if the
// apiserver failed.
func (e *env) measureOnce(ctx context.Context, c listCase) *listFigures {
	if f, done := e.once[c.format.name]; done {
		return f
	}
	e.once[c.format.name] = nil
	one := listCase{format: c.format, encoding: identity, clients: 1}
	got, err := e.listBatch(ctx, one, e.apiserver)
	if err != nil {
		progress("%s: apiserver: %v", one.name(), err)
		return nil
	}
	line := newListLine(one)
	line.add(apiserverName, got)
	line.summarize()
	f := line.By[apiserverName]
	f.rounds = nil // other lines show these figures, too
	e.once[c.format.name] = f
	return f
}
