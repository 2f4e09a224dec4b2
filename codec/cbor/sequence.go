package cbor

import (
	"bytes"
	"io"
	"math"

	fxcbor "github.com/fxamacker/cbor/v2"

	"sluice/codec/json"
)

// Sequence reads the items of a CBOR sequence (RFC 8742), such as the events of a watch.
type Sequence struct {
	from io.Reader // the input of in: buffered bytes and the stream
	in   *fxcbor.Decoder
	long bool // the buffer of in has grown
}

// keptBuffer is how large a buffer may be that waits for the next item.
const keptBuffer = 64 << 10

// NewSequence returns a Sequence of the items of in. It may read ahead.
func NewSequence(in io.Reader) *Sequence { return &Sequence{from: in, in: wellFormed.NewDecoder(in)} }

// wellFormed accepts items as long and deep as the apiserver does. AppendJSON checks their content.
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
	if s.long {
		rest, _ := io.ReadAll(s.in.Buffered()) // of memory
		s.from = io.MultiReader(bytes.NewReader(rest), s.from)
		s.in = wellFormed.NewDecoder(s.from)
	}
	var item fxcbor.RawMessage
	err := s.in.Decode(&item)
	s.long = len(item) > keptBuffer
	return item, err
}
