package cache

import "sluice/cache/tree"

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

// QuietEncoder is an Encoder that omits modifications which its readers do not see.
type QuietEncoder interface {
	Encoder
	// Omits reports whether the frame of the modification is empty.
	Omits(before, after *tree.Object) (bool, error)
}

// frameKey is the key of a frame among the memos of an event.
type frameKey struct {
	encoder Encoder
	t       Type
}

// frameMemory is about how many bytes a frame takes besides its text.
const frameMemory = 300

// Frame returns the event encoded by enc, with the type that TypeFor returned. It is empty if enc omits it. Recent events are
// encoded once for all watches with equal encoders, as long as the budget keeps the frame. It must not be changed.
func (e *Event) Frame(b *tree.Budget, enc Encoder, t Type) ([]byte, error) {
	if frame, ok := e.frames.Recall(frameKey{enc, t}); ok {
		return frame.([]byte), nil
	}
	frame, err := e.frames.Make(b, frameKey{enc, t}, func() (any, int64, error) {
		frame, err := e.encode(enc, t)
		return frame, int64(cap(frame)) + frameMemory, err
	})
	if err != nil {
		return nil, err
	}
	return frame.([]byte), nil
}

// HasFrame reports whether another watch has encoded the event with enc, or is doing so.
func (e *Event) HasFrame(enc Encoder, t Type) bool { return e.frames.Has(frameKey{enc, t}) }

// Shared reports whether the event is recent, so that other watches hold its frame, too.
func (e *Event) Shared() bool { return !e.frames.Retired() }

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
	if quiet, ok := enc.(QuietEncoder); ok && t == Modified && e.Previous != nil && e.Previous != o { // of some archived events only the object is known
		if omits, err := quiet.Omits(e.Previous, o); omits || err != nil {
			return nil, err
		}
	}
	return enc.AppendEvent(nil, t, o)
}

const (
	// recentEvents is how many of the newest events keep their frames, for watches that keep up.
	recentEvents = 512
	// recentBytes is the limit of the data of their objects, in bytes. The frames themselves have a budget.
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
func (r *recentFrames) evict(events *ring) {
	for r.events > recentEvents || (r.bytes > recentBytes && r.events > 1) {
		e := events.at(events.n - r.events)
		e.frames.Retire()
		r.remove(e)
	}
}
