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
	complete      uint64                  // the history has every event after this version
	archive       archive                 // the older events
	oldestVersion uint64                  // the states are known from this version on
	oldestState   state                   // at oldestVersion
	bytes         int64                   // memory that the events in all keep alive
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
	return woken
}

// trimPiece bounds the events that are removed under one lock: no reader can go on meanwhile.
const trimPiece = 256

// trim removes some of the events that are too old or exceed the memory limit, except the newest. It returns the oldest event with
// a state if it is to be archived instead, and whether there may be more to do.
func (h *history) trim(now time.Time) (pack *Event, more bool) {
	events, most, oldest := &h.all.events, h.options.HistoryBytes, h.options.HistoryAge
	for range trimPiece {
		if events.n <= 1 && len(h.archive.events) == 0 {
			return nil, false
		}
		large := most > 0 && h.memory() > most
		old := oldest > 0 && now.Sub(h.oldestAt()) > oldest
		switch {
		case large && events.n > 1 && h.bytes > most/statesPart:
			return events.at(0), true
		case !large && !old:
			return nil, false
		}
		h.drop()
	}
	return nil, true
}

// oldestAt returns when the oldest event was received.
func (h *history) oldestAt() time.Time {
	if len(h.archive.events) > 0 {
		return time.Unix(0, h.archive.events[0].at)
	}
	return h.all.events.at(0).At
}

// drop removes the oldest event.
func (h *history) drop() {
	var gone archivedEvent
	var of marks
	if len(h.archive.events) > 0 {
		gone, of = h.archive.pop()
	} else {
		e := h.forget()
		gone, of = archivedEvent{rv: e.RV, shares: e.shares}, h.marksOf(e)
		h.archive.trimmed = e.position
	}
	after := gone.rv
	if gone.shares {
		after++ // a reader at this version may lack the event
	}
	h.prehistory.add(of, after, h.complete)
	h.complete = after
}

// forget removes the oldest event with a state and returns it.
func (h *history) forget() *Event {
	if h.recent.events == h.all.events.n {
		h.recent.remove(h.all.events.at(0))
	}
	e := h.all.events.pop()
	h.oldestVersion, h.oldestState = e.RV, e.after
	h.bytes -= e.size()
	for _, scope := range h.scopesOf(e) {
		if sub := h.subscriptions[scope]; sub != nil && sub.events.n > 0 && sub.events.at(0) == e {
			sub.events.pop()
		}
	}
	return e
}

// sample returns the oldest events with a state, as many as a dictionary needs.
func (h *history) sample() (like []*Event) {
	for i, n := 0, 0; i < h.all.events.n && n < dictionaryBytes; i++ {
		e := h.all.events.at(i)
		like, n = append(like, e), n+len(e.Object.Data)
	}
	return like
}

// memory returns about how many bytes of memory the history keeps alive.
func (h *history) memory() int64 { return h.bytes + h.archive.bytes + h.prehistory.size() }

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

// marksOf returns the marks of the scopes that an event concerns.
func (h *history) marksOf(e *Event) (of marks) {
	of[0] = Scope{}.mark()
	for i, scope := range h.scopesOf(e) {
		of[i+1] = scope.mark()
	}
	return of
}

// concerns reports whether an event is in scope.
func (h *history) concerns(scope Scope, e *Event) bool {
	field := 0
	if h.options.Index != nil {
		field = *h.options.Index
	}
	return scope.concerns(e, field)
}

// at returns the state at a version up to which the history is complete, or ErrGone if it is older than the known states.
func (h *history) at(version uint64) (*Snapshot, error) {
	if version < h.oldestVersion {
		return nil, ErrGone
	}
	if i := h.all.events.indexNewer(version); i > 0 {
		return &Snapshot{Version: version, state: h.all.events.at(i - 1).after}, nil
	}
	return &Snapshot{Version: version, state: h.oldestState}, nil
}

// upTo returns the version up to which a reader of all events up to position has everything. Others follow.
func (h *history) upTo(position uint64) uint64 { return min(h.rv(position), h.rv(position+1)-1) }

// rv returns the resource version of the event at a position.
func (h *history) rv(position uint64) uint64 {
	if position <= h.all.events.trimmed {
		return h.archive.events[position-h.archive.trimmed-1].rv
	}
	return h.all.events.at(int(position - h.all.events.trimmed - 1)).RV
}

// deletes reports whether the newest event up to version may be a deletion at version: others may follow at this version.
func (h *history) deletes(version uint64) bool {
	if h.all.events.trimmed > 0 && version <= h.oldestVersion {
		return true // the event has no state any more
	}
	i := h.all.events.indexNewer(version) - 1
	return i >= 0 && h.all.events.at(i).RV == version && h.all.events.at(i).Type == Deleted
}

// startAfter returns the position after which the events begin that a reader of a state at version may
// lack.
func (h *history) startAfter(version uint64) uint64 {
	if i := h.archive.since(version); i < len(h.archive.events) {
		return h.archive.trimmed + uint64(i)
	}
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
	from    uint64 // events has the events of the scope with states after this position, and none before it
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
