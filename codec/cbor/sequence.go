package cbor

import (
	"io"
	"math"

	fxcbor "github.com/fxamacker/cbor/v2"

	"sluice/codec/json"
)

// Sequence reads the items of a CBOR sequence (RFC 8742), such as the events of a watch.
type Sequence struct{ in *fxcbor.Decoder }

// NewSequence returns a Sequence of what in delivers. It may read ahead.
func NewSequence(in io.Reader) *Sequence { return &Sequence{wellFormed.NewDecoder(in)} }

// wellFormed accepts items as long and deep as the apiserver does. AppendJSON checks what they contain.
var wellFormed = func() fxcbor.DecMode {
	mode, err := fxcbor.DecOptions{
		MaxNestedLevels: json.MaxDepth, MaxArrayElements: math.MaxInt32, MaxMapPairs: 1 << 21,
	}.DecMode()
	if err != nil { // only for options out of range
		panic(err)
	}
	return mode
}()

// Next returns the bytes of the next item. The error is one of in, which is io.EOF between items, or
// that of an item that is not well-formed.
func (s *Sequence) Next() ([]byte, error) {
	var item fxcbor.RawMessage
	err := s.in.Decode(&item)
	return item, err
}
