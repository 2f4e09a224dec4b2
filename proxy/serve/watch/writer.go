package watch

import (
	"net/http"

	"sluice/cache"
	"sluice/cache/tree"
	"sluice/codec/splice"
	"sluice/proxy/flowcontrol"
	"sluice/proxy/response"
	"sluice/proxy/serve/encode"
)

// writer writes the bytes of a watch, plain or compressed. A compressed watch is a stream of
// blocks that hold no state of the watch, so that an event is compressed once for all watches.
type writer struct {
	w       http.ResponseWriter
	work    *flowcontrol.Work
	client  *response.WriteDeadline
	coding  splice.Coding
	stream  *splice.Stream
	scratch []byte
	failed  bool         // a write has failed
	budget  *tree.Budget // of the frames that watches share
	encoded *int64       // counts what is compressed, before that; nil counts nothing
}

func newWriter(w http.ResponseWriter, work *flowcontrol.Work, coding splice.Coding) *writer {
	return &writer{w: w, work: work, client: response.NewWriteDeadline(w), coding: coding, stream: splice.NewStream(coding)}
}

// begin sends the headers and the beginning of the stream.
func (w *writer) begin() error {
	if err := w.send(w.stream.Begin(nil)); err != nil {
		return err
	}
	return w.flush()
}

// write writes text that no other watch writes.
func (w *writer) write(text []byte) error {
	if w.coding == splice.Identity {
		return w.send(text)
	}
	if err := w.work.Next(); err != nil {
		return err
	}
	b := w.coding.Compress(w.scratch[:0], text)
	w.work.Compressed(b.Plain - len(b.Data))
	if cap(b.Data) <= encode.LargestPiece {
		w.scratch = b.Data
	}
	return w.block(&b)
}

// block writes a block in the coding of the watch.
func (w *writer) block(b *splice.Block) error {
	w.stream.Add(b)
	if w.encoded != nil {
		*w.encoded += int64(b.Plain)
	}
	return w.send(b.Data)
}

// frame writes the frame of an event that all watches of this format and coding share. The one that makes a long frame takes a
// turn before: the others wait for it.
func (w *writer) frame(e *cache.Event, t cache.Type, format *encode.Format) error {
	encoder := format.Frames(w.coding)
	if encode.Longest(e.Size()) > flowcontrol.ShortWork && !e.HasFrame(encoder, t) {
		if err := w.work.Long(); err != nil {
			return err
		}
	}
	frame, err := e.Frame(w.budget, encoder, t)
	switch {
	case err != nil:
		return err
	case w.coding == splice.Identity:
		return w.send(frame)
	}
	b := splice.Unpack(frame)
	return w.block(&b)
}

func (w *writer) send(p []byte) error {
	err := w.work.Write(w.client, w.w, p)
	w.failed = w.failed || err != nil
	return err
}

func (w *writer) flush() error {
	err := w.client.Flush()
	w.failed = w.failed || err != nil
	return err
}

// end writes the end of the stream, so that the client does not take it for truncated.
func (w *writer) end() {
	defer w.client.Stop()
	if !w.failed {
		_ = w.send(w.stream.End(nil)) // an error means that the client has gone
	}
}
