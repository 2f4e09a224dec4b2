package list

import (
	"io"
	"net/http"
	"sync"

	"sluice/codec/splice"
	"sluice/proxy/flowcontrol"
	"sluice/proxy/response"
	"sluice/proxy/serve/encode"
)

// responseWriter writes the body of a get or list. It sends the headers with the first byte, so that
// until then the request can still pass. A body that is longer than response.CompressFrom is
// compressed if the client accepts it, in one of two ways that must not be mixed:
//
//   - text (buf, spill, add, finish) is compressed while it is written;
//   - blocks (startBlocks, addBlock, finishBlocks) are compressed already.
type responseWriter struct {
	buf     []byte // text that has been gathered, not written yet
	started bool   // the headers are sent

	w        http.ResponseWriter
	work     *flowcontrol.Work
	header   func(http.Header) // sets the headers
	client   *response.WriteDeadline
	accepted splice.Coding
	failed   bool   // a write has failed
	encoded  *int64 // counts what is compressed, before that; nil counts nothing

	compressor compressor // of text; nil if it is not compressed

	stream  *splice.Stream // of blocks
	pending []*splice.Block
}

// smallBlock is the length below which blocks are gathered: separators, heads and tails.
const smallBlock = 1 << 10

var pieces = sync.Pool{New: func() any { b := make([]byte, 0, encode.PieceSize+encode.PieceSize/4); return &b }}

// newResponseWriter returns the writer of a response; header is called before its first byte.
func newResponseWriter(w http.ResponseWriter, r *http.Request, work *flowcontrol.Work, header func(http.Header)) *responseWriter {
	return &responseWriter{
		w: work.Writer(w), work: work, header: header, client: response.NewWriteDeadline(w), accepted: response.Accepted(r.Header),
	}
}

// reserve makes buf long enough for a piece. A response out of memoized text needs no piece, and
// holds none while its client is slow.
func (w *responseWriter) reserve() {
	if cap(w.buf) < encode.PieceSize {
		w.buf = append((*pieces.Get().(*[]byte))[:0], w.buf...)
	}
}

// release returns the buffers to their pools. After a failed write over HTTP/2 it keeps them from
// the pools, because the connection may still read them.
func (w *responseWriter) release() {
	w.client.Stop()
	if w.failed {
		return
	}
	if encode.PieceSize <= cap(w.buf) && cap(w.buf) <= encode.LargestPiece {
		pieces.Put(&w.buf)
	}
	if w.compressor != nil {
		releaseCompressor(w.accepted, w.compressor)
	}
}

// start sends the headers.
func (w *responseWriter) start(coding splice.Coding) {
	w.started = true
	w.header(w.w.Header())
	response.SetCoding(w.w.Header(), coding)
}

// spill writes the gathered text if it is longer than a piece.
func (w *responseWriter) spill() error {
	if len(w.buf) <= encode.PieceSize {
		return nil
	}
	return w.flush(true)
}

// add adds text, without copying it if it is long.
func (w *responseWriter) add(text []byte) error {
	if len(w.buf)+len(text) <= encode.PieceSize {
		w.reserve()
		w.buf = append(w.buf, text...)
		return nil
	}
	if err := w.flush(true); err != nil {
		return err
	}
	return w.write(text)
}

// finish writes the rest of the text and ends the body.
func (w *responseWriter) finish() error {
	if err := w.flush(len(w.buf) > response.CompressFrom); err != nil || w.compressor == nil {
		return err
	}
	err := w.client.Close(w.compressor)
	w.failed = w.failed || err != nil
	return err
}

// flush writes the gathered text. long says whether the body is long enough to be compressed, which
// counts before the first byte only.
func (w *responseWriter) flush(long bool) error {
	switch {
	case w.started:
	case long && w.accepted != splice.Identity:
		w.start(w.accepted)
		w.compressor = newCompressor(w.accepted, w.w)
	default:
		w.start(splice.Identity)
	}
	text := w.buf
	w.buf = w.buf[:0]
	return w.write(text)
}

func (w *responseWriter) write(p []byte) error {
	var out io.Writer = w.w
	if w.compressor != nil {
		out = w.compressor
		count(w.encoded, len(p))
	}
	err := w.work.Write(w.client, out, p)
	w.failed = w.failed || err != nil
	return err
}

// startBlocks begins a body of blocks in the accepted coding.
func (w *responseWriter) startBlocks() { w.stream = splice.NewStream(w.accepted) }

// addBlock adds a block. Nothing is written before the body is known to be long enough to be
// compressed.
func (w *responseWriter) addBlock(b *splice.Block) error {
	w.stream.Add(b)
	w.pending = append(w.pending, b)
	if !w.blocksAreLong() {
		return nil
	}
	return w.flushBlocks()
}

// blocksAreLong reports whether the body is long enough to be compressed. Once it is, it remains so.
func (w *responseWriter) blocksAreLong() bool { return w.stream.Plain() > response.CompressFrom }

func (w *responseWriter) flushBlocks() error {
	if !w.started {
		w.start(w.accepted)
		w.buf = w.stream.Begin(w.buf)
	}
	for _, b := range w.pending {
		count(w.encoded, b.Plain)
		if err := w.writeBlock(b.Data); err != nil {
			return err
		}
	}
	w.pending = w.pending[:0]
	return nil
}

// writeBlock writes the data of a block; small ones are gathered.
func (w *responseWriter) writeBlock(data []byte) error {
	if len(data) < smallBlock {
		w.buf = append(w.buf, data...)
		return w.spill()
	}
	if err := w.flush(true); err != nil {
		return err
	}
	return w.write(data)
}

// finishBlocks ends the body. It reports false if the body is too short to be compressed: nothing
// has been written then, and the body can be written as text.
func (w *responseWriter) finishBlocks() (bool, error) {
	if !w.blocksAreLong() {
		w.pending = nil
		return false, nil
	}
	if err := w.flushBlocks(); err != nil {
		return false, err
	}
	w.buf = w.stream.End(w.buf)
	return true, w.flush(true)
}

// count adds n to a counter, if there is one.
func count(counter *int64, n int) {
	if counter != nil {
		*counter += int64(n)
	}
}
