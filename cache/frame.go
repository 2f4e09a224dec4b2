package cache

import (
	"errors"
	"sync/atomic"

	"sluice/cache/tree"
)

// Encoder encodes events for all watches of one format. It must be comparable: watches whose
// encoders are equal share frames.
type Encoder interface {
	// AppendEvent appends the frame of an event to dst.
	AppendEvent(dst []byte, t Type, o *tree.Object) ([]byte, error)
	// DeletedFromSelection returns the object of the Deleted event for an object that an event of
	// resource version rv has removed from a selection: the content of o, the object before the event,
	// with resource version rv.
	DeletedFromSelection(o *tree.Object, rv uint64) (*tree.Object, error)
}

// Frame returns the event encoded by enc, with the type that TypeFor returned. Recent events are
// encoded once for all watches with equal encoders. The frame must not be changed.
func (e *Event) Frame(enc Encoder, t Type) ([]byte, error) {
	return e.frames.get(enc, t, e)
}

// Shared reports whether the event is recent, so that Frame returns what other watches hold, too.
func (e *Event) Shared() bool { return !e.frames.evicted.Load() }

// Size returns the stored bytes of the larger object that the event may show.
func (e *Event) Size() int {
	if e.Previous == nil {
		return len(e.Object.Data)
	}
	return max(len(e.Object.Data), len(e.Previous.Data))
}

// ObjectFor returns the object that the event shows with the type that TypeFor returned.
func (e *Event) ObjectFor(enc Encoder, t Type) (*tree.Object, error) {
	if t == Deleted && e.Type != Deleted {
		return enc.DeletedFromSelection(e.Previous, e.RV)
	}
	return e.Object, nil
}

func (e *Event) encode(enc Encoder, t Type) ([]byte, error) {
	o, err := e.ObjectFor(enc, t)
	if err != nil {
		return nil, err
	}
	return enc.AppendEvent(nil, t, o)
}

// frames memoizes the encodings of one event. Reading takes no lock.
type frames struct {
	head    atomic.Pointer[frame] // linked list
	evicted atomic.Bool           // the event is not recent: encode, but do not keep
}

// frame is one encoding, or one that a reader is about to make. All readers that came meanwhile go on at once
// when it is made: behind a mutex they would go on one after the other, before the first of them has written
// anything.
type frame struct {
	enc  Encoder
	t    Type
	next *frame

	made  atomic.Bool   // data and err are set
	ready chan struct{} // closed after made is set
	data  []byte
	err   error
}

var errPanicked = errors.New("the encoder has panicked")

func (f *frames) get(enc Encoder, t Type, e *Event) ([]byte, error) {
	head := f.head.Load()
	if n := head.find(enc, t); n != nil {
		return n.wait()
	}
	if f.evicted.Load() {
		return e.encode(enc, t)
	}
	mine := &frame{enc: enc, t: t, next: head, ready: make(chan struct{}), err: errPanicked}
	for !f.head.CompareAndSwap(head, mine) {
		head = f.head.Load()
		if n := head.find(enc, t); n != nil {
			return n.wait()
		}
		mine.next = head
	}
	if f.evicted.Load() { // evict ran meanwhile
		f.head.Store(nil)
	}
	defer close(mine.ready)
	mine.data, mine.err = e.encode(enc, t)
	mine.made.Store(true)
	return mine.data, mine.err
}

// find returns the frame of an encoder and a type in the list, nil if there is none.
func (n *frame) find(enc Encoder, t Type) *frame {
	for ; n != nil; n = n.next {
		if n.enc == enc && n.t == t {
			return n
		}
	}
	return nil
}

// wait waits until the frame is made.
func (n *frame) wait() ([]byte, error) {
	if !n.made.Load() { // a closed channel would cost a lock
		<-n.ready
	}
	return n.data, n.err
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
