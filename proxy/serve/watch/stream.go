package watch

import (
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sluice/cache"
	"sluice/cache/tree"
	"sluice/codec/splice"
	"sluice/proxy/flowcontrol"
	"sluice/proxy/serve/body"
	"sluice/proxy/serve/encode"
	"sluice/proxy/serve/plan"
)

// stream is what a watch sends. A compressed watch is a stream of blocks that hold no state of the watch, so that an event
// is compressed once for all watches.
type stream struct {
	*body.Body
	plan    *plan.Plan
	coding  splice.Coding
	encoded *tree.Budget // of frames and segments
	// lastSent is the version of the last event or bookmark that was written, from which the client resumes.
	lastSent    uint64
	columnsSent bool // a Table event has been written: the first one has the columns
}

// initialEvents writes an ADDED event for every selected object of a state, or if one cannot be written, for every object
// before it.
func (s *stream) initialEvents(state *cache.Snapshot, e *ending) error {
	if err := s.Work.Next(); err != nil { // before the first object is looked for
		return err
	}
	selection := &s.plan.Selection
	items := body.Items{
		Body: s.Body, Segments: encode.NewSegments(s.plan.Format, s.encoded, selection.Filter != nil, true),
		Blocks: true, First: s.first(),
	}
	for run := range selection.Runs(state, s.encoded) {
		if err := s.Work.Next(); err != nil {
			return err
		}
		if e.told() {
			return errToldToEnd
		}
		if run.Set == 0 {
			continue
		}
		err := items.Run(run)
		s.columnsSent = !items.First
		if err != nil {
			return err
		}
	}
	return nil
}

// first reports whether the next event is the first one of a watch of Tables, which has the columns.
func (s *stream) first() bool { return !s.columnsSent && !s.plan.Format.Shareable() }

// event writes an event: the frame that all watches of the format share, or a text of its own. It reports false for one
// that a quiet watch omits.
func (s *stream) event(e *cache.Event, t cache.Type) (sent bool, err error) {
	shared := s.plan.Format.Shareable() && e.Shared()
	if longest := encode.Longest(e.Size()); !shared && longest > flowcontrol.ShortWork {
		if err := s.Work.Long(); err != nil {
			return false, err
		}
		if err := s.Claim(longest); err != nil {
			return false, err
		}
	}
	if sent, err = s.text(e, t); err != nil {
		return false, err
	}
	if sent {
		s.lastSent = e.RV
	}
	return sent, s.Rest()
}

// text writes the frame of an event, or its text with ages as of now, or the columns of Tables before it.
func (s *stream) text(e *cache.Event, t cache.Type) (sent bool, err error) {
	format := s.plan.Format
	switch {
	case format.Shareable():
		return s.frame(e, t)
	case format.Memoizable() && !s.first():
		return true, format.WriteAged(s.encoded, e, t, s.Write)
	}
	o, err := e.ObjectFor(format, t)
	if err != nil {
		return false, err
	}
	first := s.first()
	text, err := format.AppendEventOf(nil, t, o, first)
	if err != nil {
		return false, err
	}
	s.columnsSent = s.columnsSent || first
	return true, s.Write(text)
}

// frame writes the frame of an event that all watches of this format and coding share. The one that makes a long frame
// takes a turn before: the others wait for it.
func (s *stream) frame(e *cache.Event, t cache.Type) (sent bool, err error) {
	encoder := s.plan.Format.Frames(s.coding)
	if encode.Longest(e.Size()) > flowcontrol.ShortWork && !e.HasFrame(encoder, t) {
		if err := s.Work.Long(); err != nil {
			return false, err
		}
	}
	frame, err := e.Frame(s.encoded, encoder, t)
	if err != nil || len(frame) == 0 {
		return false, err
	}
	return true, s.Frame(frame)
}

// bookmark writes and flushes a bookmark if the client has asked for bookmarks.
func (s *stream) bookmark(version uint64, initialEventsEnd bool) error {
	if !s.plan.Options.AllowBookmarks {
		return nil
	}
	text, err := s.plan.Format.AppendBookmark(nil, strconv.FormatUint(version, 10), initialEventsEnd, !s.columnsSent)
	if err != nil {
		return err
	}
	s.columnsSent, s.lastSent = true, version
	if err := s.Write(text); err != nil {
		return err
	}
	if err := s.Flush(); err != nil {
		return err
	}
	return s.Rest()
}

// error writes and flushes an ERROR event.
func (s *stream) error(err *apierrors.StatusError) {
	if s.Write(s.plan.Format.AppendErrorEvent(nil, &err.ErrStatus)) == nil {
		_ = s.Flush() // an error means that the client has gone
	}
}
