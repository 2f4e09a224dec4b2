package splice

import "io"

// Joint is a compressed stream of known blocks being put together. It holds the blocks by reference; it must not be used
// by two goroutines at once, but the blocks may.
type Joint struct {
	stream Stream
	parts  [][]byte
	length int64
}

// NewJoint returns an empty stream in that coding, which must not be Identity.
func NewJoint(c Coding) *Joint {
	j := &Joint{stream: Stream{coding: c}}
	j.add(j.stream.Begin(nil))
	return j
}

// Add appends a block of the Joint's coding by reference.
func (j *Joint) Add(b *Block) {
	j.stream.Add(b)
	j.add(b.Data)
}

// AddPlain appends bytes that are to be part of the stream as they are, or as good as that. They are copied.
func (j *Joint) AddPlain(p []byte) {
	b := j.stream.coding.Store(nil, p)
	j.Add(&b)
}

// Close ends the stream. Nothing may be added after it.
func (j *Joint) Close() { j.add(j.stream.End(nil)) }

func (j *Joint) add(p []byte) {
	if len(p) > 0 {
		j.parts = append(j.parts, p)
		j.length += int64(len(p))
	}
}

// Len returns the length of the stream in bytes, once it is closed.
func (j *Joint) Len() int64 { return j.length }

// Plain returns how many bytes the stream unpacks to.
func (j *Joint) Plain() uint64 { return j.stream.Plain() }

// Parts returns the stream's bytes, in order. They must not be changed; the slice is valid until the next call to Add.
func (j *Joint) Parts() [][]byte { return j.parts }

// WriteTo writes the whole stream, a part at a time. It may be called again.
func (j *Joint) WriteTo(w io.Writer) (n int64, err error) {
	for _, p := range j.parts {
		k, err := w.Write(p)
		n += int64(k)
		if err != nil {
			return n, err
		}
	}
	return n, nil
}
