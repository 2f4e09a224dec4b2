package serve

import (
	"io"
	"net/http"
	"sync"
	"time"

	"sluice/codec/splice"
	"sluice/proxy/response"
)

const (
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
	coding splice.Coding // that the client takes
	zip    compressor    // nil while plain
	begun  bool          // something has been written
	failed bool          // a write has
}

// pieceSize is how much is gathered before it is written; an answer that may
// have to be compressed is gathered up to the length where that begins.
const pieceSize = response.CompressFrom

var pieces = sync.Pool{New: func() any { b := make([]byte, 0, pieceSize+pieceSize/4); return &b }}

// largestPiece bounds the buffers that are kept for reuse.
const largestPiece = 4 * pieceSize

func newBody(w http.ResponseWriter, r *http.Request) *body {
	return &body{w: w, client: patient(w), coding: response.Accepted(r.Header)}
}

// room makes room to gather a piece. An answer that is written out of what is
// memoized gathers none, and holds nothing while its client is slow.
func (b *body) room() {
	if cap(b.buf) < pieceSize {
		b.buf = append((*pieces.Get().(*[]byte))[:0], b.buf...)
	}
}

// release gives the buffers back, unless a write has failed: over HTTP/2 one
// may be read for a while after that.
func (b *body) release() {
	if b.failed {
		return
	}
	if pieceSize <= cap(b.buf) && cap(b.buf) <= largestPiece {
		pieces.Put(&b.buf)
	}
	if b.zip != nil {
		giveBack(b.coding, b.zip)
	}
}

// spill writes what has been gathered, if it is enough.
func (b *body) spill() error {
	if len(b.buf) <= pieceSize {
		return nil
	}
	b.mayCompress()
	return b.flush()
}

// add writes text, which is not copied if it is long.
func (b *body) add(text []byte) error {
	if len(b.buf)+len(text) <= pieceSize {
		b.room()
		b.buf = append(b.buf, text...)
		return nil
	}
	b.mayCompress()
	if err := b.flush(); err != nil {
		return err
	}
	return b.write(text)
}

// mayCompress compresses an answer that turns out to be long before any of it
// has been written.
func (b *body) mayCompress() {
	if b.begun || b.coding == splice.Identity {
		return
	}
	response.SetCoding(b.w.Header(), b.coding)
	b.zip = compressorFor(b.coding, b.w)
}

// part writes a part of a stream that is compressed already. Those between blocks
// are a few bytes long: they are gathered.
func (b *body) part(p []byte) error {
	if len(p) < smallPart {
		if b.buf = append(b.buf, p...); len(b.buf) <= pieceSize {
			return nil
		}
		return b.flush()
	}
	if err := b.flush(); err != nil {
		return err
	}
	return b.write(p)
}

const smallPart = 1 << 10

func (b *body) flush() error {
	text := b.buf
	b.buf = b.buf[:0]
	return b.write(text)
}

func (b *body) write(p []byte) error {
	b.begun = true
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
	if len(b.buf) > response.CompressFrom {
		b.mayCompress()
	}
	if err := b.flush(); err != nil {
		return err
	}
	if b.zip == nil {
		return nil
	}
	err := b.client.close(b.zip)
	b.failed = b.failed || err != nil
	return err
}
