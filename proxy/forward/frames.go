package forward

import (
	"errors"
	"fmt"
	"io"
)

// errEvent is returned for a watch event that cannot be converted.
var errEvent = errors.New("watch event cannot be converted")

const (
	// eventRead is how much is read of a stream at a time, in bytes.
	eventRead = 16 << 10
	// eventIdle is the largest buffer that an open stream keeps between
	// events, in bytes; it counts against no room.
	eventIdle = 64 << 10
)

// frames takes a stream of JSON objects apart, whatever stands between them,
// and returns each as soon as its last byte is there.
type frames struct {
	in    io.Reader
	lease *lease
	buf   []byte // what was read
	seen  int    // how much of it was scanned
	begun int    // where in it the object begins; -1 before it does
	depth int
	text  bool // inside a string
	slash bool // behind a backslash
}

func newFrames(in io.Reader, l *lease) *frames { return &frames{in: in, lease: l, begun: -1} }

// next returns the next object, which is valid until the next call. The error
// is io.EOF at the end, io.ErrUnexpectedEOF if that comes inside an object, or
// the reader's own.
func (f *frames) next() ([]byte, error) {
	for {
		if object, err := f.scan(); object != nil || err != nil {
			return object, err
		}
		if err := f.fill(); err != nil {
			if errors.Is(err, io.EOF) && f.begun >= 0 {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
}

// scan looks for the end of an object in what it has not seen yet.
func (f *frames) scan() ([]byte, error) {
	for ; f.seen < len(f.buf); f.seen++ {
		c := f.buf[f.seen]
		switch {
		case f.slash:
			f.slash = false
		case f.text:
			f.slash, f.text = c == '\\', c != '"'
		case c == '{', c == '[':
			if f.depth++; f.depth == 1 {
				f.begun = f.seen
			}
		case f.depth == 0:
			if c > ' ' {
				return nil, fmt.Errorf("%w: %q before an object", errEvent, c)
			}
		case c == '"':
			f.text = true
		case c == '}', c == ']':
			if f.depth--; f.depth == 0 {
				object := f.buf[f.begun : f.seen+1]
				f.seen, f.begun = f.seen+1, -1
				return object, nil
			}
		}
	}
	return nil, nil
}

// fill reads more of the stream, behind what there is of an object.
func (f *frames) fill() error {
	if err := f.makeRoom(); err != nil {
		return err
	}
	n, err := f.in.Read(f.buf[len(f.buf):cap(f.buf)])
	f.buf = f.buf[:len(f.buf)+n]
	if n > 0 {
		return nil
	}
	return err
}

// held is how much of the lease the buffer takes.
func (f *frames) held() int64 {
	if cap(f.buf) > eventIdle {
		return int64(cap(f.buf))
	}
	return 0
}

// makeRoom makes the buffer large enough for another read: by dropping what
// was returned, or else by making it larger.
func (f *frames) makeRoom() error {
	if f.begun < 0 {
		f.buf, f.seen = f.buf[:0], 0
		if cap(f.buf) > eventIdle {
			f.buf = nil
			f.lease.end()
		}
	}
	if cap(f.buf)-len(f.buf) >= eventRead {
		return nil
	}
	rest := f.buf[max(f.begun, 0):]
	size := cap(f.buf)
	if size-len(rest) < eventRead {
		size = 2*size + eventRead
	}
	switch {
	case len(rest) > maxEvent:
		return fmt.Errorf("%w: it has more than %d bytes", errEvent, maxEvent)
	case size == cap(f.buf):
		f.buf = f.buf[:copy(f.buf, rest)]
	default:
		if size > eventIdle {
			if err := f.lease.hold(int64(cap(f.buf) + size)); err != nil {
				return err
			}
		}
		f.buf = append(make([]byte, 0, size), rest...)
		f.lease.shrink(int64(size))
	}
	f.seen, f.begun = len(f.buf), min(f.begun, 0)
	return nil
}
