package cbor

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	fxcbor "github.com/fxamacker/cbor/v2"
)

// Next takes the first item off a concatenation of items and returns it,
// without its self-described tag, and what follows it. It checks that the item is well-formed and
// nothing more.
//
// The error is io.EOF when nothing is left, io.ErrUnexpectedEOF when b ends
// inside an item, or ErrDecode.
func Next(b []byte) (item, rest []byte, err error) {
	if len(b) == 0 {
		return nil, nil, io.EOF
	}
	var raw skipped
	rest, err = decoding.UnmarshalFirst(b, &raw)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, b, at(io.ErrUnexpectedEOF, "CBOR item", len(b))
	}
	if err != nil {
		return nil, b, &decodeError{err}
	}
	n := len(b) - len(rest)
	return bytes.TrimPrefix(b[:n:n], []byte(SelfDescribed)), rest, nil
}

// skipped takes an item without copying it.
type skipped struct{}

// UnmarshalCBOR does nothing.
func (*skipped) UnmarshalCBOR([]byte) error { return nil }

// Sequence reads a CBOR sequence (RFC 8742), the apiserver's framing of watch
// events in CBOR, item by item.
type Sequence struct {
	d *fxcbor.Decoder
	r *boundedReader
}

// NewSequence returns a Sequence that reads from r and refuses items larger
// than maxSize bytes, give or take what one read brings.
func NewSequence(r io.Reader, maxSize int) *Sequence {
	b := &boundedReader{r: r, max: maxSize}
	s := &Sequence{d: decoding.NewDecoder(b), r: b}
	b.consumed = s.d.NumBytesRead
	return s
}

// Next returns the next item without its self-described tag. The bytes are the caller's.
//
// The error is io.EOF at the end, io.ErrUnexpectedEOF if that comes inside an
// item, ErrSize, ErrDecode or the reader's own.
func (s *Sequence) Next() ([]byte, error) {
	var item fxcbor.RawMessage
	err := s.d.Decode(&item)
	switch {
	case err == nil:
		return item, nil
	case s.r.err != nil && s.r.err != io.EOF:
		return nil, s.r.err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, err
	}
	return nil, &decodeError{err}
}

// boundedReader stops when too much was read that is not consumed as whole
// items.
type boundedReader struct {
	r        io.Reader
	max      int
	read     int
	consumed func() int
	err      error
}

func (b *boundedReader) Read(p []byte) (int, error) {
	if waiting := b.read - b.consumed(); waiting >= b.max {
		b.err = fmt.Errorf("CBOR item of %d bytes or more, limit is %d: %w", waiting, b.max, ErrSize)
		return 0, b.err
	}
	n, err := b.r.Read(p)
	b.read += n
	b.err = err
	return n, err
}
