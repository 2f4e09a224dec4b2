package transcode

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"

	"sluice/proxy/limits"
)

// errEvent is returned for a watch event that cannot be transcoded.
var errEvent = errors.New("watch event cannot be transcoded")

const (
	// eventRead is the most that is read of a stream at a time, in bytes.
	eventRead = 16 << 10
	// maxIdleBuffer is the largest buffer that an open watch keeps between events, in bytes. It is not taken from an
	// account.
	maxIdleBuffer = 64 << 10
	// growth is how many times its buffer the decoder takes at most: the buffer, one of twice its length in its place, and
	// the last event.
	growth = 4
)

// eventReader reads the values of a JSON stream, each as soon as its last byte has arrived. The decoder reads from it.
type eventReader struct {
	in       io.Reader
	memory   *limits.Hold
	decoder  *stdjson.Decoder
	event    stdjson.RawMessage
	read     int   // bytes in the decoder's buffer
	reserved int64 // bytes of memory for the buffer; 0 for one that may stay
	err      error // of Read
}

func newEventReader(in io.Reader, memory *limits.Hold) *eventReader {
	r := &eventReader{in: in, memory: memory}
	r.decoder = stdjson.NewDecoder(r)
	return r
}

// next returns the next value, which is valid until the next call. The error is io.EOF at the end
// of the stream, io.ErrUnexpectedEOF if that is inside a value, errEvent, an APIStatus if the
// account may take no more, or one of the stream.
func (r *eventReader) next() ([]byte, error) {
	rest := r.decoder.Buffered().(*bytes.Reader)
	if r.read = rest.Len(); r.reserved > 0 && r.read <= maxIdleBuffer { // a large buffer is not kept
		left := make([]byte, r.read)
		_, _ = rest.Read(left)
		r.decoder, r.event = stdjson.NewDecoder(io.MultiReader(bytes.NewReader(left), r)), nil
		r.memory.Release()
		r.reserved = 0
	}
	err := r.decoder.Decode(&r.event)
	_, malformed := errors.AsType[*stdjson.SyntaxError](err)
	switch {
	case err == nil:
		return r.event, nil
	case malformed:
		return nil, fmt.Errorf("%w: %w", errEvent, err)
	case r.err != nil && !errors.Is(r.err, io.EOF):
		return nil, r.err
	}
	return nil, err
}

// Read implements io.Reader for the decoder, to whose buffer it appends p.
func (r *eventReader) Read(p []byte) (n int, err error) {
	defer func() { r.err = err }()
	if r.read > maxEvent {
		return 0, fmt.Errorf("%w: it has more than %d bytes", errEvent, maxEvent)
	}
	if size := growth * int64(r.read+len(p)); size > growth*maxIdleBuffer {
		if err := r.memory.Reserve(size); err != nil {
			return 0, err
		}
		r.reserved = size
	}
	n, err = r.in.Read(p[:min(len(p), eventRead)])
	r.read += n
	return n, err
}
