package consistency

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strings"

	"sluice/test/consistency/history"
)

// tally counts what became of one kind of read.
type tally struct {
	answers int // by Sluice
	cached  int // of these, out of its cache
	sources map[string]int
	faults  map[string]int // requests that failed, by how
}

// answered counts an answer.
func (t *tally) answered(source string) {
	t.sources[source]++
	if from, ours := strings.CutPrefix(source, sluiceName+": "); ours {
		t.answers++
		if from == "cache" || strings.HasPrefix(from, "cache;") {
			t.cached++
		}
	}
}

// cause is an error without what is different each time.
func cause(err error) string {
	var refusal *refusal
	var operation *net.OpError
	switch {
	case errors.As(err, &refusal):
		return refusal.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return "answer cut off"
	case errors.As(err, &operation), strings.Contains(err.Error(), "stream error"):
		return "connection lost"
	}
	return err.Error()
}

// summary is a table of what became of each kind of read.
func (c *cast) summary() string {
	var b strings.Builder
	h := &c.recorder.history
	items, bookmarks := 0, 0
	for _, w := range h.Watches {
		items += len(w.Items)
		for _, i := range w.Items {
			if i.Type == history.Bookmark {
				bookmarks++
			}
		}
	}
	fmt.Fprintf(&b, "%s: %d events, %d writes, %d lists, %d gets, %d watches with %d events, %d of them bookmarks\n",
		c.plural, len(h.Log.Events), len(h.Writes), len(h.Reads), len(h.Gets), len(h.Watches), items, bookmarks)
	for _, kind := range slices.Sorted(maps.Keys(c.recorder.tallies)) {
		t := c.recorder.tallies[kind]
		fmt.Fprintf(&b, "%-26s %5d answers by Sluice, %3.0f%% from its cache; all: %s; failed: %s\n",
			kind, t.answers, 100*t.share(), counts(t.sources), counts(t.faults))
	}
	return b.String()
}

// share is that of Sluice's answers which came out of its cache.
func (t *tally) share() float64 { return float64(t.cached) / float64(max(t.answers, 1)) }

func counts(m map[string]int) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%d %s", m[k], k))
	}
	return strings.Join(parts, ", ")
}
