package cache

import (
	"sync"
	"sync/atomic"
)

// Encoder encodes events for all watches of one format. It must be comparable: watches whose
// encoders are equal share frames.
type Encoder interface {
	// AppendEvent appends the frame of an event to dst.
	AppendEvent(dst []byte, t Type, o *Object) ([]byte, error)
	// AppendDeletedFromSelection appends to dst the frame of a Deleted event for an object that
	// an event of resource version rv has removed from a selection. The frame has the content of
	// o, the object before the event, with resource version rv.
	AppendDeletedFromSelection(dst []byte, o *Object, rv uint64) ([]byte, error)
}

// Frame returns the event encoded by enc, with the type that TypeFor returned. Recent events are
// encoded once for all watches with equal encoders. The frame must not be changed.
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
	head    atomic.Pointer[frame] // linked list
	evicted atomic.Bool           // the event is not recent: encode, but do not keep
	mu      sync.Mutex            // serializes encoding, so that each frame is encoded once
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
	if f.evicted.Load() {
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
	if f.evicted.Load() { // evict ran during the encoding
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

// evict drops the frames and keeps no new ones. It does not wait for an encoding that is running.
func (f *frames) evict() {
	f.evicted.Store(true)
	f.head.Store(nil)
}

const (
	// recentEvents is how many of the newest events keep their frames, for watches that keep up.
	recentEvents = 512
	// recentBytes is the limit of the data of their objects, in bytes.
	recentBytes = 8 << 20
)

// recentFrames counts the newest events of a history, which keep their frames.
type recentFrames struct {
	events int
	bytes  int64 // sum of the lengths of their objects' data
}

func (r *recentFrames) add(e *Event) {
	r.events++
	r.bytes += int64(len(e.Object.Data))
}

func (r *recentFrames) remove(e *Event) {
	r.events--
	r.bytes -= int64(len(e.Object.Data))
}

// evict drops the frames of the oldest recent events until the limits hold. The newest event always
// stays recent.
func (r *recentFrames) evict(h *history) {
	for r.events > recentEvents || (r.bytes > recentBytes && r.events > 1) {
		e := h.at(h.n - r.events)
		e.frames.evict()
		r.remove(e)
	}
}
