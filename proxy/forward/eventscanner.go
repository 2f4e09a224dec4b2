package forward

import (
	"encoding/binary"
	"math"
	"mime"

	"sluice/codec"
)

// eventScanner finds the ends of the events in the body of a watch.
type eventScanner interface {
	// scan reads the next piece of the body. It returns the length up to the end of the last event that
	// ends in the piece, or -1 if none does.
	scan(piece []byte) (end int)
	// between reports whether no event has begun after the last one that has ended.
	between() bool
}

// newEventScanner returns the scanner for a media type, or nil if Sluice does not know its framing.
func newEventScanner(contentType string) eventScanner {
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return nil
	}
	switch media {
	case codec.MediaJSON:
		return &jsonScanner{}
	case codec.MediaProtobuf:
		return &protobufScanner{}
	case codec.MediaCBORSequence:
		return &cborScanner{}
	}
	return nil
}

// jsonScanner scans objects with a newline after each, or white space, or nothing.
type jsonScanner struct {
	depth    int
	inString bool
	escape   bool // after a backslash
	unended  bool // an object has ended, the newline after it may follow
	broken   bool // the stream is not one of objects
}

func (s *jsonScanner) scan(piece []byte) (end int) {
	end = -1
	for i, c := range piece {
		switch {
		case s.escape:
			s.escape = false
		case s.inString:
			s.escape, s.inString = c == '\\', c != '"'
		case c == '{', c == '[':
			if s.unended {
				s.unended, end = false, i
			}
			s.depth++
		case c == '}', c == ']':
			s.depth--
			s.unended = s.depth == 0
		case s.depth == 0:
			if c == '\n' && s.unended {
				s.unended, end = false, i+1
			}
			s.broken = s.broken || c > ' '
		case c == '"':
			s.inString = true
		}
	}
	if s.broken {
		return -1
	}
	return end
}

func (s *jsonScanner) between() bool { return s.depth == 0 && !s.unended && !s.broken }

// protobufScanner scans frames, each after its length in four bytes.
type protobufScanner struct {
	head [4]byte
	read int    // how much of head has been read
	left uint32 // how much of the frame is to be read, once head has been
}

func (s *protobufScanner) scan(piece []byte) (end int) {
	end = -1
	for i := 0; i < len(piece); {
		if s.read < len(s.head) {
			n := copy(s.head[s.read:], piece[i:])
			s.read += n
			i += n
			if s.read < len(s.head) {
				break
			}
			s.left = binary.BigEndian.Uint32(s.head[:])
		}
		n := min(int64(s.left), int64(len(piece)-i))
		s.left -= uint32(n)
		i += int(n)
		if s.left == 0 {
			s.read, end = 0, i
		}
	}
	return end
}

func (s *protobufScanner) between() bool { return s.read == 0 }

// cborScanner scans the data items of a CBOR sequence (RFC 8742).
type cborScanner struct {
	open     []uint64 // of each open item, how many items it still takes; indefinite has no number
	head     int      // how many bytes of the argument of an item follow
	major    byte
	argument uint64
	payload  uint64 // how many bytes of a string follow
	broken   bool   // the stream is not well-formed
}

// indefinite is the number of items of an array, map or string that a break ends.
const indefinite = math.MaxUint64

// maxOpen bounds the depth of items.
const maxOpen = 1000

func (s *cborScanner) scan(piece []byte) (end int) {
	end = -1
	for i := 0; i < len(piece) && !s.broken; {
		switch {
		case s.payload > 0:
			n := min(s.payload, uint64(len(piece)-i))
			s.payload -= n
			if i += int(n); s.payload == 0 {
				s.close()
			}
		case s.head > 0:
			s.argument = s.argument<<8 | uint64(piece[i])
			s.head--
			if i++; s.head == 0 {
				s.begin()
			}
		default:
			s.first(piece[i])
			i++
		}
		if s.between() {
			end = i
		}
	}
	if s.broken {
		return -1
	}
	return end
}

// first reads the first byte of an item.
func (s *cborScanner) first(b byte) {
	s.major, s.argument = b>>5, 0
	switch info := b & 31; {
	case info < 24:
		s.argument = uint64(info)
		s.begin()
	case info < 28:
		s.head = 1 << (info - 24)
	case b == 0xff: // break
		if n := len(s.open); n == 0 || s.open[n-1] != indefinite {
			s.broken = true
			return
		}
		s.open = s.open[:len(s.open)-1]
		s.close()
	case info == 31 && s.major >= 2 && s.major <= 5:
		s.enter(indefinite)
	default:
		s.broken = true
	}
}

// begin begins an item whose argument has been read.
func (s *cborScanner) begin() {
	switch s.major {
	case 2, 3:
		if s.payload = s.argument; s.payload == 0 {
			s.close()
		}
	case 4:
		s.enterOrClose(s.argument)
	case 5:
		if s.argument > math.MaxUint32 {
			s.broken = true
			return
		}
		s.enterOrClose(2 * s.argument)
	case 6:
		s.enter(1)
	default:
		s.close()
	}
}

func (s *cborScanner) enterOrClose(items uint64) {
	if items == 0 {
		s.close()
		return
	}
	s.enter(items)
}

func (s *cborScanner) enter(items uint64) {
	s.broken = s.broken || len(s.open) >= maxOpen
	s.open = append(s.open, items)
}

// close ends an item, and the items of which it was the last.
func (s *cborScanner) close() {
	for n := len(s.open); n > 0; n = len(s.open) {
		if s.open[n-1] == indefinite {
			return
		}
		if s.open[n-1]--; s.open[n-1] > 0 {
			return
		}
		s.open = s.open[:n-1]
	}
}

func (s *cborScanner) between() bool {
	return len(s.open) == 0 && s.head == 0 && s.payload == 0 && !s.broken
}
