package encode

import (
	"bytes"
	"sync"

	"sluice/codec/splice"
	"sluice/proxy/response"
)

const (
	// PieceSize is how much text is gathered before it is written.
	PieceSize = response.CompressFrom
	// LargestPiece bounds the buffers that are kept for reuse.
	LargestPiece = 4 * PieceSize
	// Growth is the estimated length of an object's text in the longest format, as a multiple of its stored bytes.
	Growth = 3
	// longestFactor and longestBase are for the text that an object may have if somebody wants it long: a control character
	// takes six bytes in JSON, and an event of a Table has columns besides.
	longestFactor, longestBase = 6, 64 << 10
	// BlocksPay is how many stored bytes a list must have to be written as memoized blocks. A shorter
	// list is compressed while it is written, if it turns out to be long enough.
	BlocksPay = response.CompressFrom / 4
)

// Longest returns about how many bytes the text of an object of n stored bytes takes at most.
func Longest(n int) int64 { return longestFactor*int64(n) + longestBase }

// scratches holds idle buffers of up to largestScratch bytes.
var scratches = sync.Pool{New: func() any { return new([]byte) }}

const largestScratch = 4 << 20 // the text of a segment, or of an object that is as large as etcd permits

func recycle(scratch *[]byte, grown []byte) {
	if cap(grown) <= largestScratch {
		*scratch = grown
		scratches.Put(scratch)
	}
}

// cloned returns the output of encode, without spare capacity.
func cloned(encode func(dst []byte) ([]byte, error)) ([]byte, error) {
	scratch := scratches.Get().(*[]byte)
	text, err := encode((*scratch)[:0])
	if err != nil {
		return nil, err
	}
	defer recycle(scratch, text)
	return bytes.Clone(text), nil
}

// compressBlock compresses the output of encode into a block without spare capacity.
func compressBlock(coding splice.Coding, encode func(dst []byte) ([]byte, error)) (*splice.Block, error) {
	scratch := scratches.Get().(*[]byte)
	text, err := encode((*scratch)[:0])
	if err != nil {
		return nil, err
	}
	packed := scratches.Get().(*[]byte)
	b := coding.Compress((*packed)[:0], text)
	grown := b.Data
	b.Data = bytes.Clone(grown)
	recycle(scratch, text)
	recycle(packed, grown)
	return &b, nil
}
