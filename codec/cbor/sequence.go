package cbor

import (
	"io"

	fxcbor "github.com/fxamacker/cbor/v2"
)

// Sequence reads the items of a CBOR sequence (RFC 8742), such as the events of a watch.
type Sequence struct{ in *fxcbor.Decoder }

// NewSequence returns a Sequence of what in delivers. It may read ahead.
func NewSequence(in io.Reader) *Sequence { return &Sequence{decoding.NewDecoder(in)} }

// Next returns the bytes of the next item. The error is one of in, which is io.EOF between items, or
// that of an item that is not well-formed.
func (s *Sequence) Next() ([]byte, error) {
	var item fxcbor.RawMessage
	err := s.in.Decode(&item)
	return item, err
}
