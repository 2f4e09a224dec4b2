package cache

import (
	"sync"
	"sync/atomic"
	"time"
)

// Type is what happened to an object.
type Type uint8

// The types of event that change the state. Their texts are those of the API.
const (
	Added Type = iota + 1
	Modified
	Deleted
)

func (t Type) String() string {
	switch t {
	case Added:
		return "ADDED"
	case Modified:
		return "MODIFIED"
	case Deleted:
		return "DELETED"
	}
	return "UNKNOWN"
}

// Event is one change in the history of a resource.
type Event struct {
	Type Type
	RV   uint64
	// Object is the new state, or for Deleted the last state under the version
	// of the deletion, as the upstream sent it.
	Object *Object
	// Previous is the state before, nil for Added.
	Previous *Object
	// At is when the event was applied.
	At time.Time

	seq    uint64 // position in the history, from 1, without gaps
	after  state  // what the event has made
	frames frames
}

// size is about how many bytes the history keeps alive through the event. The
// new state belongs to the store as long as it is current.
func (e *Event) size() int64 {
	n := e.Previous.Size() + eventOverhead
	if e.Type == Deleted {
		n += e.Object.Size()
	}
	return n
}

// eventOverhead is what an event costs beside objects, in bytes: itself, and
// the copies of a segment and of the path to it that the state before it does
// not share with the state after.
const eventOverhead = 2048

// Encoder turns events into the bytes that one kind of watcher receives. It
// must be comparable: frames are shared by the watchers of equal encoders.
type Encoder interface {
	// AppendEvent appends the frame of an event to dst.
	AppendEvent(dst []byte, t Type, o *Object) ([]byte, error)
	// AppendDeletedFromSelection appends the frame of a Deleted event for an object that
	// a change at version rv has taken out of a selection: it has the content
	// of o, the state before, and that version.
	AppendDeletedFromSelection(dst []byte, o *Object, rv uint64) ([]byte, error)
}

// Filter tells which objects a selection holds.
type Filter interface{ Match(o *Object) bool }

// TypeFor returns what the event means to a watch of a selection: an object that
// enters it was added, one that leaves it was deleted. It returns false if the
// event does not concern the selection. A nil filter selects everything.
func (e *Event) TypeFor(f Filter) (Type, bool) {
	if f == nil {
		return e.Type, true
	}
	before := e.Previous != nil && f.Match(e.Previous)
	after := e.Type != Deleted && f.Match(e.Object)
	switch {
	case before && after:
		return Modified, true
	case after:
		return Added, true
	case before:
		return Deleted, true
	}
	return 0, false
}

// Frame returns the event as enc encodes it under the type that For returned.
// Each frame is made once and shared; it must not be changed.
func (e *Event) Frame(enc Encoder, t Type) ([]byte, error) {
	return e.frames.get(enc, t, e)
}

func (e *Event) encode(enc Encoder, t Type) ([]byte, error) {
	if t == Deleted && e.Type != Deleted {
		return enc.AppendDeletedFromSelection(nil, e.Previous, e.RV)
	}
	return enc.AppendEvent(nil, t, e.Object)
}

// frames memoizes the encodings of one event. Reading takes no lock.
type frames struct {
	head atomic.Pointer[frame]
	cold atomic.Bool // old event: encode, but do not keep
	mu   sync.Mutex  // serializes encoding, so that it is done once
}

type frame struct {
	enc  Encoder
	t    Type
	data []byte
	next *frame
}

func (f *frames) get(enc Encoder, t Type, e *Event) ([]byte, error) {
	if data, ok := f.find(enc, t); ok {
		return data, nil
	}
	if f.cold.Load() {
		return e.encode(enc, t)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if data, ok := f.find(enc, t); ok {
		return data, nil
	}
	data, err := e.encode(enc, t)
	if err != nil {
		return nil, err
	}
	f.head.Store(&frame{enc: enc, t: t, data: data, next: f.head.Load()})
	if f.cold.Load() { // dropped meanwhile
		f.head.Store(nil)
	}
	return data, nil
}

func (f *frames) find(enc Encoder, t Type) ([]byte, bool) {
	for n := f.head.Load(); n != nil; n = n.next {
		if n.enc == enc && n.t == t {
			return n.data, true
		}
	}
	return nil, false
}

// drop forgets the frames; later readers encode for themselves. It does not
// wait for one that is encoding.
func (f *frames) drop() {
	f.cold.Store(true)
	f.head.Store(nil)
}
