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

// tally counts the results of one kind of read, by the source of the answer or the cause of the failure.
type tally map[string]int

// ofSluice returns how many answers come from Sluice, and how many of these from its cache.
func (t tally) ofSluice() (answers, cached int) {
	for result, n := range t {
		if from, ours := strings.CutPrefix(result, sluiceName+": "); ours {
			answers += n
			if strings.HasPrefix(from, "cache") {
				cached += n
			}
		}
	}
	return answers, cached
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
		results := wl.recorder.tallies[kind]
		answers, cached := results.ofSluice()
		fmt.Fprintf(&b, "%-26s %5d answers from Sluice, %5d of them cached; all: ", kind, answers, cached)
		for _, result := range slices.Sorted(maps.Keys(results)) {
			fmt.Fprintf(&b, "%d %s, ", results[result], result)
		}
		b.WriteString("\n")
	}
	return b.String()
}
