package consistency

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"sluice/test/consistency/history"
)

// truth takes the log of what happens to a resource, from one watch directly at
// the apiserver. An apiserver that starts anew has forgotten the last events of
// the one before; they are found by listing the state at each version.
type truth struct {
	resource
	server     *server
	namespaces []string // where objects change

	started chan struct{} // closed when the log has a start

	mu      sync.Mutex // guards all below
	log     history.Log
	objects map[string]*history.Object
	reached uint64 // version up to which the log is complete
	grown   chan struct{}
}

func newTruth(r resource, s *server, namespaces []string) *truth {
	return &truth{resource: r, server: s, namespaces: namespaces, started: make(chan struct{}), grown: make(chan struct{})}
}

// errTruth is returned when the log is beyond repair.
var errTruth = errors.New("the test has lost track of what happens")

// run follows the resource until the context ends.
func (tr *truth) run(ctx context.Context) error {
	if err := tr.begin(ctx); err != nil {
		return err
	}
	close(tr.started)
	for ctx.Err() == nil {
		err := tr.follow(ctx)
		if gone(err) {
			err = tr.mend(ctx)
		}
		if errors.Is(err, errTruth) {
			return fmt.Errorf("%s: %w", tr.plural, err)
		}
		wait(ctx, 20*time.Millisecond)
	}
	return nil
}

// gone reports whether an answer is that the history does not reach back so
// far.
func gone(err error) bool {
	var r *refusal
	return errors.As(err, &r) && r.Code == http.StatusGone
}

func (tr *truth) begin(ctx context.Context) error {
	page, _, err := tr.list(ctx, "", 0)
	if err != nil {
		return err
	}
	tr.log = history.Log{Start: page.Version, State: page.Items}
	tr.objects = tr.log.At(page.Version)
	tr.reached = page.Version
	return nil
}

// list reads the state at a version, or with 0 the most recent one. It asks
// until it is answered.
func (tr *truth) list(ctx context.Context, namespace string, version uint64) (page history.Page, next string, err error) {
	query := url.Values{}
	if version > 0 {
		query = url.Values{"resourceVersion": {strconv.FormatUint(version, 10)}, "resourceVersionMatch": {"Exact"}}
	}
	for {
		page, next, err = tr.server.list(ctx, tr.path(namespace, ""), query, false)
		if err == nil || gone(err) || ctx.Err() != nil {
			return page, next, err
		}
		wait(ctx, 50*time.Millisecond)
	}
}

// follow watches from where the log is complete until the stream ends.
func (tr *truth) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := tr.server.watch(ctx, tr.path("", ""), url.Values{
		"resourceVersion": {strconv.FormatUint(tr.reachedVersion(), 10)}, "allowWatchBookmarks": {"true"},
	})
	if err != nil {
		return err
	}
	defer stream.close()
	for {
		item, _, err := stream.next()
		if err != nil {
			return err
		}
		if item.Type == history.Bookmark {
			tr.add(item.Version)
		} else {
			tr.add(item.Version, history.Event{Type: item.Type, Version: item.Version, Object: item.Object})
		}
	}
}

// add appends events that make the log complete up to a version.
func (tr *truth) add(version uint64, events ...history.Event) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	for _, e := range events {
		tr.log.Events = append(tr.log.Events, e)
		if e.Type == history.Deleted {
			delete(tr.objects, e.Object.Key)
		} else {
			tr.objects[e.Object.Key] = e.Object
		}
	}
	tr.reached = max(tr.reached, version)
	close(tr.grown)
	tr.grown = make(chan struct{})
}

func (tr *truth) reachedVersion() uint64 {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.reached
}

// mend closes the gap between the log and the present, version by version.
func (tr *truth) mend(ctx context.Context) error {
	now, _, err := tr.list(ctx, "", 0)
	if err != nil {
		return err
	}
	for version := tr.reachedVersion() + 1; version <= now.Version; version++ {
		if err := tr.step(ctx, version); err != nil {
			return err
		}
	}
	return tr.agree(now)
}

// step finds what happened at one version.
func (tr *truth) step(ctx context.Context, version uint64) error {
	var changes []history.Event
	for _, namespace := range tr.namespaces {
		page, _, err := tr.list(ctx, namespace, version)
		if gone(err) {
			return fmt.Errorf("%w: version %d is gone", errTruth, version)
		}
		if err != nil {
			return err
		}
		changes = append(changes, tr.changes(namespace, page)...)
	}
	if len(changes) > 1 {
		return fmt.Errorf("%w: %d changes at version %d: %v", errTruth, len(changes), version, changes)
	}
	tr.add(version, changes...)
	return nil
}

// changes are the differences between the log's state of a namespace and that
// at a version.
func (tr *truth) changes(namespace string, page history.Page) []history.Event {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	before := maps.Clone(tr.objects)
	maps.DeleteFunc(before, func(_ string, o *history.Object) bool { return o.Namespace() != namespace })
	var changes []history.Event
	for _, o := range page.Items {
		switch old := before[o.Key]; {
		case old == nil:
			changes = append(changes, history.Event{Type: history.Added, Version: o.Version, Object: o})
		case old.Version != o.Version:
			changes = append(changes, history.Event{Type: history.Modified, Version: o.Version, Object: o})
		}
		delete(before, o.Key)
	}
	for _, old := range before {
		changes = append(changes, history.Event{Type: history.Deleted, Version: page.Version, Object: old.Under(page.Version)})
	}
	return changes
}

// agree compares the log's state with the one that was listed.
func (tr *truth) agree(now history.Page) error {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	same := len(now.Items) == len(tr.objects) && !slices.ContainsFunc(now.Items, func(o *history.Object) bool {
		have := tr.objects[o.Key]
		return have == nil || have.Version != o.Version
	})
	if !same {
		return fmt.Errorf("%w: it differs from the list at %d", errTruth, now.Version)
	}
	return nil
}

// until waits until the log is complete up to a version.
func (tr *truth) until(ctx context.Context, version uint64) error {
	for {
		tr.mu.Lock()
		reached, grown := tr.reached, tr.grown
		tr.mu.Unlock()
		if reached >= version {
			return nil
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return fmt.Errorf("%s: at %d instead of %d: %w", tr.plural, reached, version, ctx.Err())
		}
	}
}

// taken is the log so far.
func (tr *truth) taken() history.Log {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	log := tr.log
	log.Events = slices.Clone(log.Events)
	return log
}

// wait lets a time pass, unless the context ends.
func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
