package serve

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"

	"sluice/codec/splice"
)

const (
	// gzipThreshold is the length from which the apiserver compresses, in
	// bytes (wire.md 8).
	gzipThreshold = 128 << 10
	// gzipLevel is the apiserver's.
	gzipLevel = 1
	// writeTimeout is how long a client may take for one piece of an answer,
	// writePiece bytes: 9 KB/s.
	writeTimeout = 30 * time.Second
	writePiece   = 256 << 10
)

// body collects the pieces of an answer and writes them, compressed if that
// pays and the client takes it.
type body struct {
	buf    []byte // not written yet
	w      http.ResponseWriter
	client *patience
	zip    *gzip.Writer // nil while plain
	failed bool         // a write has
	mayZip bool         // the client takes gzip, and nothing is written yet
}

// pieceSize is how much is gathered before it is written; an answer that may
// have to be compressed is gathered up to the threshold.
const pieceSize = gzipThreshold

var (
	pieces = sync.Pool{New: func() any { b := make([]byte, 0, pieceSize+pieceSize/4); return &b }}
	zips   = sync.Pool{New: func() any { z, _ := gzip.NewWriterLevel(io.Discard, gzipLevel); return z }}
)

// largestPiece bounds the buffers that are kept for reuse.
const largestPiece = 4 * pieceSize

func newBody(w http.ResponseWriter, r *http.Request) *body {
	return &body{
		buf: (*pieces.Get().(*[]byte))[:0], w: w, client: patient(w), mayZip: takesGzip(r.Header),
	}
}

// release gives the buffers back, unless a write has failed: over HTTP/2 one
// may be read for a while after that.
func (b *body) release() {
	if b.failed {
		return
	}
	if cap(b.buf) <= largestPiece {
		pieces.Put(&b.buf)
	}
	if b.zip != nil {
		b.zip.Reset(io.Discard)
		zips.Put(b.zip)
	}
}

// takesGzip reads Accept-Encoding as the apiserver does: a token gzip and
// nothing else, without parameters.
func takesGzip(h http.Header) bool {
	for token := range strings.SplitSeq(h.Get("Accept-Encoding"), ",") {
		if strings.Trim(token, " ") == "gzip" {
			return true
		}
	}
	return false
}

// spill writes what has been gathered, if it is enough.
func (b *body) spill() error {
	if len(b.buf) <= pieceSize {
		return nil
	}
	if b.mayZip {
		b.startZip()
	}
	return b.flush()
}

// add writes text, which is not copied if it is long.
func (b *body) add(text []byte) error {
	if len(b.buf)+len(text) <= pieceSize {
		b.buf = append(b.buf, text...)
		return nil
	}
	if b.mayZip {
		b.startZip()
	}
	if err := b.flush(); err != nil {
		return err
	}
	return b.write(text)
}

func (b *body) startZip() {
	b.zipHeaders()
	b.zip = zips.Get().(*gzip.Writer)
	b.zip.Reset(b.w)
}

func (b *body) zipHeaders() {
	b.w.Header().Set("Content-Encoding", "gzip")
	b.w.Header().Set("Vary", "Accept-Encoding")
	b.mayZip = false
}

// send writes a compressed stream that is complete.
func (b *body) send(g *splice.Gzip) error {
	b.zipHeaders()
	for _, part := range g.Parts() {
		// The parts between blocks are a few bytes long: they go with the next.
		if len(part) < smallPart {
			b.buf = append(b.buf, part...)
			continue
		}
		if err := b.flush(); err != nil {
			return err
		}
		if err := b.write(part); err != nil {
			return err
		}
	}
	return b.flush()
}

const smallPart = 1 << 10

func (b *body) flush() error {
	text := b.buf
	b.buf = b.buf[:0]
	return b.write(text)
}

func (b *body) write(p []byte) error {
	b.mayZip = false
	var out io.Writer = b.w
	if b.zip != nil {
		out = b.zip
	}
	err := b.client.write(out, p)
	b.failed = b.failed || err != nil
	return err
}

// finish writes the rest.
func (b *body) finish() error {
	if len(b.buf) > gzipThreshold && b.mayZip {
		b.startZip()
	}
	if err := b.flush(); err != nil {
		return err
	}
	if b.zip != nil {
		err := b.client.close(b.zip)
		b.failed = b.failed || err != nil
		return err
	}
	return nil
}
