package serve

import (
	"net/http"

	"sluice/cache"
	"sluice/cache/tree"
	"sluice/codec/splice"
	"sluice/proxy/flowcontrol"
	"sluice/proxy/response"
)

// watchWriter writes the bytes of a watch, plain or compressed. A compressed watch is a stream of
// blocks that hold no state of the watch, so that an event is compressed once for all watches.
type watchWriter struct {
	w       http.ResponseWriter
	work    *flowcontrol.Work
	client  *response.WriteDeadline
	coding  splice.Coding
	stream  *splice.Stream
	scratch []byte
	failed  bool // a write has failed
}

func newWatchWriter(w http.ResponseWriter, work *flowcontrol.Work, coding splice.Coding) *watchWriter {
	w = work.Writer(w)
	return &watchWriter{w: w, work: work, client: response.NewWriteDeadline(w), coding: coding, stream: splice.NewStream(coding)}
}

// begin sends the headers and the beginning of the stream.
func (w *watchWriter) begin() error {
	if err := w.send(w.stream.Begin(nil)); err != nil {
		return err
	}
	return w.flush()
}

// write writes text that no other watch writes.
func (w *watchWriter) write(text []byte) error {
	if w.coding == splice.Identity {
		return w.send(text)
	}
	b := w.coding.Compress(w.scratch[:0], text)
	if cap(b.Data) <= largestPiece {
		w.scratch = b.Data
	}
	return w.block(&b)
}

// block writes a block in the coding of the watch.
func (w *watchWriter) block(b *splice.Block) error {
	w.stream.Add(b)
	return w.send(b.Data)
}

// frame writes the frame of an event that all watches of this encoder and coding share.
func (w *watchWriter) frame(e *cache.Event, t cache.Type, encoder *formatEncoder) error {
	if w.coding == splice.Identity {
		text, err := e.Frame(encoder, t)
		if err != nil {
			return err
		}
		return w.send(text)
	}
	packed, err := e.Frame(blockEncoder{encoder, w.coding}, t)
	if err != nil {
		return err
	}
	b := splice.Unpack(packed)
	return w.block(&b)
}

func (w *watchWriter) send(p []byte) error {
	err := w.work.Write(w.client, w.w, p)
	w.failed = w.failed || err != nil
	return err
}

func (w *watchWriter) flush() error {
	err := w.client.Flush()
	w.failed = w.failed || err != nil
	return err
}

// end writes the end of the stream, so that the client does not take it for truncated.
func (w *watchWriter) end() {
	defer w.client.Stop()
	if !w.failed {
		_ = w.send(w.stream.End(nil)) // an error means that the client has gone
	}
}

// blockEncoder is a cache.Encoder whose frames are packed blocks.
type blockEncoder struct {
	encoder *formatEncoder
	coding  splice.Coding
}

// AppendEvent implements cache.Encoder.
func (b blockEncoder) AppendEvent(dst []byte, t cache.Type, o *tree.Object) ([]byte, error) {
	return b.pack(dst, func(text []byte) ([]byte, error) { return b.encoder.AppendEvent(text, t, o) })
}

// AppendDeletedFromSelection implements cache.Encoder.
func (b blockEncoder) AppendDeletedFromSelection(dst []byte, o *tree.Object, rv uint64) ([]byte, error) {
	return b.pack(dst, func(text []byte) ([]byte, error) { return b.encoder.AppendDeletedFromSelection(text, o, rv) })
}

func (b blockEncoder) pack(dst []byte, encode func([]byte) ([]byte, error)) ([]byte, error) {
	block, err := compressBlock(b.coding, encode)
	if err != nil {
		return dst, err
	}
	return block.Pack(dst), nil
}

var _ cache.Encoder = blockEncoder{}
