package body

import (
	"sync"

	"sluice/proxy/limits"
	"sluice/proxy/serve/encode"
)

// smallPiece is the length of the buffer of a short response.
const smallPiece = 16 << 10

var (
	pieces      = sync.Pool{New: func() any { b := make([]byte, 0, encode.PieceSize+encode.PieceSize/4); return &b }}
	smallPieces = sync.Pool{New: func() any { b := make([]byte, 0, smallPiece); return &b }}
)

// buffers hold text until it is written. They count for the caller.
type buffers struct {
	Text []byte       // that has been gathered
	Hold *limits.Hold // of the buffers

	scratch  []byte // for a piece of compressed text; nil until one is needed
	counted  int64  // bytes of Hold
	expected int    // estimated bytes of text, at most a piece
	failed   bool   // a write has failed
}

// Reserve makes Text long enough for a piece, or for all of a short response. A response out of memoized text needs no
// piece, and holds none while its client is slow. The error is a *limits.Refused.
func (b *buffers) Reserve() error {
	if cap(b.Text) == 0 {
		b.Text = b.buffer()
	}
	return b.Count()
}

func (b *buffers) buffer() []byte {
	pool := &pieces
	if b.expected <= smallPiece {
		pool = &smallPieces
	}
	return (*pool.Get().(*[]byte))[:0]
}

// Count counts the buffers. The error is a *limits.Refused.
func (b *buffers) Count() error { return b.Claim(int64(cap(b.Text) + cap(b.scratch))) }

// Claim counts so many bytes, for a text that has yet to be made, until the buffers are counted. The error is a
// *limits.Refused.
func (b *buffers) Claim(bytes int64) error {
	if bytes == b.counted {
		return nil
	}
	err := b.Hold.Resize(bytes)
	if err == nil {
		b.counted = bytes
	}
	return err
}

// recycle returns the buffers to their pools. After a failed write over HTTP/2 it keeps them from the pools, because the
// connection may still read them.
func (b *buffers) recycle() {
	for _, buffer := range []*[]byte{&b.Text, &b.scratch} {
		kept := *buffer
		*buffer = nil
		switch n := cap(kept); {
		case b.failed:
		case n == smallPiece:
			smallPieces.Put(&kept)
		case encode.PieceSize <= n && n <= encode.LargestPiece:
			pieces.Put(&kept)
		}
	}
}

// Rest returns the buffers of a watch until its next text, which probably is short.
func (b *buffers) Rest() error {
	b.expected = 0
	b.recycle()
	return b.Claim(0)
}
