package transcode

import (
	"errors"
	"fmt"
	"io"
)

// errEvent is returned for a watch event that cannot be transcoded.
var errEvent = errors.New("watch event cannot be transcoded")

const (
	// eventRead is the space for one read of a stream, in bytes.
	eventRead = 16 << 10
	// maxIdleBuffer is the largest buffer that an open watch keeps between events, in bytes. It is
	// not reserved from a quota.
	maxIdleBuffer = 64 << 10
)

// eventReader splits a stream of JSON objects, with or without white space between them, and
// returns each as soon as its last byte has been read.
type eventReader struct {
	in       io.Reader
	memory   *reservation
	buf      []byte // what was read
	scanned  int    // how much of buf was scanned
	start    int    // where in buf the object begins; -1 between objects
	depth    int
	inString bool
	escape   bool // after a backslash
}

func newEventReader(in io.Reader, memory *reservation) *eventReader {
	return &eventReader{in: in, memory: memory, start: -1}
}

// next returns the next object, which is valid until the next call. The error is io.EOF at the end
// of the stream, io.ErrUnexpectedEOF if that is inside an object, errEvent, an APIStatus if the
// quota is exhausted, or one of the stream.
func (r *eventReader) next() ([]byte, error) {
	for {
		if object, err := r.scan(); object != nil || err != nil {
			return object, err
		}
		if err := r.fill(); err != nil {
			if errors.Is(err, io.EOF) && r.start >= 0 {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
}

// scan returns the next object if all of it is in buf.
func (r *eventReader) scan() ([]byte, error) {
	for ; r.scanned < len(r.buf); r.scanned++ {
		c := r.buf[r.scanned]
		switch {
		case r.escape:
			r.escape = false
		case r.inString:
			r.escape, r.inString = c == '\\', c != '"'
		case c == '{', c == '[':
			if r.depth++; r.depth == 1 {
				r.start = r.scanned
			}
		case r.depth == 0:
			if c > ' ' {
				return nil, fmt.Errorf("%w: %q before an object", errEvent, c)
			}
		case c == '"':
			r.inString = true
		case c == '}', c == ']':
			if r.depth--; r.depth == 0 {
				object := r.buf[r.start : r.scanned+1]
				r.scanned, r.start = r.scanned+1, -1
				return object, nil
			}
		}
	}
	return nil, nil
}

// fill reads more of the stream into buf.
func (r *eventReader) fill() error {
	if err := r.grow(); err != nil {
		return err
	}
	n, err := r.in.Read(r.buf[len(r.buf):cap(r.buf)])
	r.buf = r.buf[:len(r.buf)+n]
	if n > 0 {
		return nil
	}
	return err
}

// reserved returns how many bytes of the reservation the buffer takes.
func (r *eventReader) reserved() int64 {
	if cap(r.buf) > maxIdleBuffer {
		return int64(cap(r.buf))
	}
	return 0
}

// grow makes space for another read: it drops the objects that were returned, or else allocates a
// larger buffer.
func (r *eventReader) grow() error {
	if r.start < 0 {
		r.buf, r.scanned = r.buf[:0], 0
		if cap(r.buf) > maxIdleBuffer {
			r.buf = nil
			r.memory.release()
		}
	}
	if cap(r.buf)-len(r.buf) >= eventRead {
		return nil
	}
	rest := r.buf[max(r.start, 0):]
	size := cap(r.buf)
	if size-len(rest) < eventRead {
		size = 2*size + eventRead
	}
	switch {
	case len(rest) > maxEvent:
		return fmt.Errorf("%w: it has more than %d bytes", errEvent, maxEvent)
	case size == cap(r.buf):
		r.buf = r.buf[:copy(r.buf, rest)]
	default:
		if size > maxIdleBuffer {
			if err := r.memory.reserve(int64(cap(r.buf) + size)); err != nil {
				return err
			}
		}
		r.buf = append(make([]byte, 0, size), rest...)
		r.memory.shrink(int64(size))
	}
	r.scanned, r.start = len(r.buf), min(r.start, 0)
	return nil
}
