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

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sluice/test/consistency/history"
)

// tally counts the results of one kind of read.
type tally struct {
	answers  int // from Sluice
	cached   int // of these, from its cache
	sources  map[string]int
	failures map[string]int // failed requests, by cause
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

// cause returns an error without the parts that differ each time.
func cause(err error) string {
	var status *apierrors.StatusError
	var operation *net.OpError
	switch {
	case errors.As(err, &status):
		return strings.TrimSpace(fmt.Sprintf("%d %s", status.ErrStatus.Code, status.ErrStatus.Reason))
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return "response cut off"
	case errors.As(err, &operation), strings.Contains(err.Error(), "stream error"):
		return "connection lost"
	}
	return err.Error()
}

// summary returns a table of the results of each kind of read.
func (wl *workload) summary() string {
	var b strings.Builder
	h := &wl.recorder.history
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
		wl.plural, len(h.Log.Events), len(h.Writes), len(h.Reads), len(h.Gets), len(h.Watches), items, bookmarks)
	for _, kind := range slices.Sorted(maps.Keys(wl.recorder.tallies)) {
		t := wl.recorder.tallies[kind]
		fmt.Fprintf(&b, "%-26s %5d answers from Sluice, %3.0f%% of them cached; all: %s; failed: %s\n",
			kind, t.answers, 100*t.share(), counts(t.sources), counts(t.failures))
	}
	return b.String()
}

// share returns the share of Sluice's answers that were served from its cache.
func (t *tally) share() float64 { return float64(t.cached) / float64(max(t.answers, 1)) }

func counts(m map[string]int) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%d %s", m[k], k))
	}
	return strings.Join(parts, ", ")
}
