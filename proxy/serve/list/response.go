package list

import (
	"errors"
	"net/http"
	"sync"

	"sluice/codec/splice"
	"sluice/proxy/flowcontrol"
	"sluice/proxy/limits"
	"sluice/proxy/request"
	"sluice/proxy/response"
	"sluice/proxy/serve/encode"
	"sluice/proxy/serve/outcome"
	"sluice/proxy/serve/plan"
)

// responseWriter writes the body of a get or list. It sends the headers with the first byte, so that
// until then the request can still pass. A body that is longer than response.CompressFrom is
// compressed if the client accepts it, as a stream of blocks: text is compressed piece by piece, and between
// its pieces there may be blocks that are compressed already.
type responseWriter struct {
	buf     []byte // text that has been gathered, not written yet
	started bool   // the headers are sent

	w        http.ResponseWriter
	work     *flowcontrol.Work
	header   func(http.Header) // sets the headers
	client   *response.WriteDeadline
	accepted splice.Coding
	coding   splice.Coding // of the body, once it is started
	failed   bool          // a write has failed
	encoded  *int64        // counts what is compressed, before that; nil counts nothing
	hold     *limits.Hold  // counts the buffers
	counted  int64         // bytes of hold
	expected int           // estimated bytes of text, at most a piece

	stream  *splice.Stream
	pending []*splice.Block // of a body that is not started
	scratch []byte          // for a piece of compressed text; nil until one is needed
}

// smallText is the length below which text gains nothing by compression: separators, heads and tails.
const smallText = 4 << 10

// smallPiece is the length of the buffer of a short response.
const smallPiece = 16 << 10

var (
	pieces      = sync.Pool{New: func() any { b := make([]byte, 0, encode.PieceSize+encode.PieceSize/4); return &b }}
	smallPieces = sync.Pool{New: func() any { b := make([]byte, 0, smallPiece); return &b }}
)

// newResponseWriter returns the writer of a response of about so many bytes; header is called before its first byte.
func newResponseWriter(w http.ResponseWriter, r *http.Request, work *flowcontrol.Work, bytes int64, header func(http.Header)) *responseWriter {
	accepted, client := response.Accepted(r.Header), response.NewWriteDeadline(w)
	client.EndWithin(response.ResponseTimeout)
	return &responseWriter{
		w: w, work: work, header: header, client: client, accepted: accepted,
		stream: splice.NewStream(accepted), expected: int(min(bytes, encode.PieceSize)),
	}
}

// track counts the buffers for the caller. The response ends in favor of others.
func (w *responseWriter) track(info *request.Info) {
	w.encoded = &info.Encoded
	w.hold, _ = info.Account.TakeUntil(0, func() { w.client.EndWithin(0) })
}

// reserve makes buf long enough for a piece, or for all of a short response. A response out of memoized text needs no
// piece, and holds none while its client is slow. The error is an *limits.Refused.
func (w *responseWriter) reserve() error {
	switch {
	case cap(w.buf) > 0:
	case w.expected <= smallPiece:
		w.buf = (*smallPieces.Get().(*[]byte))[:0]
	default:
		w.buf = (*pieces.Get().(*[]byte))[:0]
	}
	return w.count()
}

// count counts the buffers. The error is an *limits.Refused.
func (w *responseWriter) count() error { return w.claim(int64(cap(w.buf) + cap(w.scratch))) }

// claim counts so many bytes, for a text that has yet to be made, until the buffers are counted. The error is an
// *limits.Refused.
func (w *responseWriter) claim(bytes int64) error {
	if bytes == w.counted {
		return nil
	}
	err := w.hold.Resize(bytes)
	if err == nil {
		w.counted = bytes
	}
	return err
}

// outcome returns the outcome of a request whose response has ended with an error, or nil: before its first byte it passes,
// or is refused.
func (w *responseWriter) outcome(p *plan.Plan, err error) error {
	refused, tooMuch := errors.AsType[*limits.Refused](err)
	switch {
	case err == nil:
		return nil
	case w.hold.Revoked() || tooMuch && w.started:
		p.Info.Outcome.Reason = limits.TooMuch
		return err
	case w.started:
		return err
	case tooMuch:
		return &outcome.Refused{Reason: outcome.Pass(refused.Reason()), Err: refused}
	}
	return outcome.UnservedFormat // an object cannot be encoded
}

// release returns the buffers to their pool. After a failed write over HTTP/2 it keeps them from the pool, because
// the connection may still read them.
func (w *responseWriter) release() {
	w.client.Stop()
	w.hold.Release()
	for _, b := range []*[]byte{&w.buf, &w.scratch} {
		switch n := cap(*b); {
		case w.failed:
		case n == smallPiece:
			smallPieces.Put(b)
		case encode.PieceSize <= n && n <= encode.LargestPiece:
			pieces.Put(b)
		}
	}
}

// start sends the headers and the pending bytes. long says whether the body is long enough to be compressed.
func (w *responseWriter) start(long bool) error {
	w.started = true
	w.header(w.w.Header())
	if !long || w.accepted == splice.Identity {
		return nil
	}
	w.coding = w.accepted
	response.SetCoding(w.w.Header(), w.coding)
	if err := w.write(w.stream.Begin(nil)); err != nil {
		return err
	}
	for _, b := range w.pending {
		if err := w.writeBlock(b); err != nil {
			return err
		}
	}
	w.pending = nil
	return nil
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
		if err := w.reserve(); err != nil {
			return err
		}
		w.buf = append(w.buf, text...)
		return w.count()
	}
	if err := w.flush(true); err != nil {
		return err
	}
	return w.writeText(text)
}

// addBlock adds a block in the accepted coding. Nothing is written before the body is known to be long enough
// to be compressed.
func (w *responseWriter) addBlock(b *splice.Block) error {
	if w.started || w.plain()+b.Plain > response.CompressFrom {
		if err := w.flush(true); err != nil {
			return err
		}
		w.stream.Add(b)
		return w.writeBlock(b)
	}
	text := w.pack(nil, w.buf)
	w.buf = w.buf[:0]
	for _, b := range []*splice.Block{&text, b} {
		w.stream.Add(b)
		w.pending = append(w.pending, b)
	}
	return nil
}

// plain returns the length, before compression, of the text that is gathered and of all blocks.
func (w *responseWriter) plain() int { return int(w.stream.Plain()) + len(w.buf) }

// finish writes the rest of the body. It reports false if the body has blocks and is too short to be compressed:
// nothing has been written then, and the body can be written again as text.
func (w *responseWriter) finish() (bool, error) {
	long := w.plain() > response.CompressFrom
	if len(w.pending) > 0 && !long {
		w.buf, w.pending, w.stream = w.buf[:0], nil, splice.NewStream(w.accepted)
		return false, nil
	}
	if err := w.flush(long); err != nil || w.coding == splice.Identity {
		return true, err
	}
	return true, w.write(w.stream.End(nil))
}

// flush writes the gathered text. long says whether the body is long enough to be compressed, which
// counts before the first byte only.
func (w *responseWriter) flush(long bool) error {
	if !w.started {
		if err := w.start(long); err != nil {
			return err
		}
	}
	text := w.buf
	w.buf = w.buf[:0]
	return w.writeText(text)
}

// writeText writes text of a body that is started.
func (w *responseWriter) writeText(text []byte) error {
	if w.coding == splice.Identity {
		return w.write(text)
	}
	for len(text) > 0 {
		if err := w.work.Next(); err != nil {
			return err
		}
		piece := text[:min(len(text), encode.PieceSize)]
		text = text[len(piece):]
		if w.scratch == nil {
			w.scratch = (*pieces.Get().(*[]byte))[:0]
			if err := w.count(); err != nil {
				return err
			}
		}
		b := w.pack(w.scratch, piece)
		w.stream.Add(&b)
		w.work.Compressed(b.Plain - len(b.Data))
		if err := w.writeBlock(&b); err != nil {
			return err
		}
	}
	return nil
}

// pack makes a block of text.
func (w *responseWriter) pack(dst, text []byte) splice.Block {
	if len(text) < smallText {
		return w.accepted.Store(dst, text)
	}
	return w.accepted.Compress(dst, text)
}

func (w *responseWriter) writeBlock(b *splice.Block) error {
	if w.encoded != nil {
		*w.encoded += int64(b.Plain)
	}
	return w.write(b.Data)
}

func (w *responseWriter) write(p []byte) error {
	err := w.work.Write(w.client, w.w, p)
	w.failed = w.failed || err != nil
	return err
}
