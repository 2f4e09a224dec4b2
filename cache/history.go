package cache

import (
	"sync/atomic"
	"time"
)

// history holds the recent events of a store. Its store's mutex guards it.
type history struct {
	options       Options
	all           *subscription
	subscriptions map[Scope]*subscription // narrower ones that have cursors
	position      uint64                  // of the newest event
	oldestVersion uint64                  // the history is complete after this version
	oldestState   state                   // at oldestVersion
	oldestShared  bool                    // several events of oldestVersion have left the history
	bytes         int64                   // memory that the events keep alive
	recent        recentFrames
	prehistory    *Prehistory
	scopes        [maxScopes]Scope // scratch space of scopesOf
}

// push appends the newest event. It returns the subscriptions whose cursors must be woken once the state after
// the event is published.
func (h *history) push(e *Event) (woken [1 + maxScopes]*subscription) {
	h.position++
	e.position = h.position
	h.all.events.push(e)
	woken[0] = h.all
	for i, scope := range h.scopesOf(e) {
		if sub := h.subscriptions[scope]; sub != nil {
			sub.events.push(e)
			woken[i+1] = sub
		}
	}
	h.bytes += e.size()
	h.recent.add(e)
	h.recent.evict(&h.all.events)
	h.trim(e.At)
	return woken
}

// trimPiece bounds the events that are removed for their age after each event: no reader can go on meanwhile.
const trimPiece = 256

// trim removes the events that exceed the memory limit and some of those that are too old, except the newest.
func (h *history) trim(now time.Time) {
	events, most, oldest := &h.all.events, h.options.HistoryBytes, h.options.HistoryAge
	for i := 0; events.n > 1; i++ {
		large := most > 0 && h.memory() > most
		if old := oldest > 0 && now.Sub(events.at(0).At) > oldest && i < trimPiece; !large && !old {
			return
		}
		if h.recent.events == events.n {
			h.recent.remove(events.at(0))
		}
		e := events.pop()
		scopes := h.scopesOf(e)
		h.prehistory.add(e, scopes, h.firstWatchable())
		h.oldestVersion, h.oldestState, h.oldestShared = e.RV, e.after, e.shares
		h.bytes -= e.size()
		for _, scope := range scopes {
			if sub := h.subscriptions[scope]; sub != nil && sub.events.n > 0 && sub.events.at(0) == e {
				sub.events.pop()
			}
		}
	}
}

// memory returns about how many bytes of memory the history keeps alive.
func (h *history) memory() int64 { return h.bytes + h.prehistory.size() }

// scopesOf returns the scopes that an event concerns, besides the whole resource and without
// duplicates. The result is valid until the next call.
func (h *history) scopesOf(e *Event) []Scope {
	scopes := h.scopes[:0]
	k := e.Object.Key
	scopes = append(scopes, Scope{Key: k})
	if ns := k.Namespace(); ns != "" {
		scopes = append(scopes, Scope{Namespace: ns})
	}
	if h.options.Index != nil {
		field := *h.options.Index
		now := e.Object.Field(field)
		scopes = append(scopes, Scope{Indexed: true, Value: now})
		if e.Previous != nil && e.Previous.Field(field) != now {
			scopes = append(scopes, Scope{Indexed: true, Value: e.Previous.Field(field)})
		}
	}
	return scopes
}

// concerns reports whether an event is in scope.
func (h *history) concerns(scope Scope, e *Event) bool {
	field := 0
	if h.options.Index != nil {
		field = *h.options.Index
	}
	return scope.concerns(e, field)
}

// firstWatchable returns the version after which the history has every event.
func (h *history) firstWatchable() uint64 {
	if h.oldestShared {
		return h.oldestVersion + 1
	}
	return h.oldestVersion
}

// at returns the state at a version up to which the history is complete, or ErrGone if it is older than the history.
func (h *history) at(version uint64) (*Snapshot, error) {
	if version < h.oldestVersion {
		return nil, ErrGone
	}
	if i := h.all.events.indexNewer(version); i > 0 {
		return &Snapshot{Version: version, state: h.all.events.at(i - 1).after}, nil
	}
	return &Snapshot{Version: version, state: h.oldestState}, nil
}

// deletes reports whether the newest event up to version is a deletion at version: others may follow at this version.
func (h *history) deletes(version uint64) bool {
	i := h.all.events.indexNewer(version) - 1
	return i >= 0 && h.all.events.at(i).RV == version && h.all.events.at(i).Type == Deleted
}

// startAfter returns the position after which the events begin that a reader of a state at version may
// lack.
func (h *history) startAfter(version uint64) uint64 {
	events := &h.all.events
	if i := events.indexSince(version); i < events.n {
		return events.at(i).position - 1
	}
	return h.position
}

// subscribe returns the subscription of scope, and counts one more cursor in it.
func (h *history) subscribe(scope Scope) *subscription {
	sub := h.all
	if scope != (Scope{}) {
		sub = h.subscriptions[scope]
	}
	if sub == nil {
		sub = &subscription{from: h.position}
		h.subscriptions[scope] = sub
	}
	sub.cursors++
	return sub
}

// unsubscribe counts one cursor less.
func (h *history) unsubscribe(scope Scope, sub *subscription) {
	sub.cursors--
	if sub.cursors == 0 && scope != (Scope{}) {
		delete(h.subscriptions, scope)
	}
}

// cursors returns the number of open cursors.
func (h *history) cursors() int {
	n := h.all.cursors
	for _, sub := range h.subscriptions {
		n += sub.cursors
	}
	return n
}

// broadcast wakes the reader of every cursor.
func (h *history) broadcast() {
	h.all.broadcast()
	for _, sub := range h.subscriptions {
		sub.broadcast()
	}
}

// subscription is the part of the history that concerns one scope, shared by the cursors of that
// scope. The subscription of the whole resource exists as long as the store, others as long as they
// have cursors. The store's mutex guards all fields except the notifier.
type subscription struct {
	notifier // broadcasts on each event of the scope, and when the store ends

	events  ring
	from    uint64 // events has all events of the scope after this position, and none before it
	cursors int
}

// notifier wakes all goroutines that wait for the next change. The zero value is ready to use.
type notifier struct {
	next atomic.Pointer[chan struct{}] // closed by broadcast; nil while nobody waits
}

// wait returns a channel that the next broadcast closes. A reader that takes the channel before it
// reads the state misses no change.
func (n *notifier) wait() <-chan struct{} {
	for {
		if next := n.next.Load(); next != nil {
			return *next
		}
		fresh := make(chan struct{})
		if n.next.CompareAndSwap(nil, &fresh) {
			return fresh
		}
	}
}

func (n *notifier) broadcast() {
	if next := n.next.Swap(nil); next != nil {
		close(*next)
	}
}
