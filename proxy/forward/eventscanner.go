package forward

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"mime"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"sluice/codec"
)

// eventScanner finds the ends of the events in the body of a watch.
type eventScanner interface {
	// scan reads the next piece of the body. It returns the length up to the end of the last event that
	// ends in the piece, or -1 if none does.
	scan(piece []byte) (end int)
	// between reports whether no event has begun after the last one that has ended.
	between() bool
	// isGone reports whether the end of a body is an ERROR event with code 410.
	isGone(tail []byte) bool
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

func (s *jsonScanner) isGone(tail []byte) bool {
	var event struct{ Object metav1.Status }
	i := bytes.LastIndex(tail, []byte(`{"type":"ERROR"`))
	return i >= 0 && json.Unmarshal(tail[i:], &event) == nil && event.Object.Code == http.StatusGone
}

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

func (s *protobufScanner) isGone(tail []byte) bool {
	var event metav1.WatchEvent
	var status metav1.Status
	i := bytes.LastIndex(tail, []byte("\n\x05ERROR")) // the field of the type
	if i < 0 || event.Unmarshal(tail[i:]) != nil {
		return false
	}
	var object runtime.Unknown
	raw, enveloped := bytes.CutPrefix(event.Object.Raw, []byte("k8s\x00"))
	return enveloped && object.Unmarshal(raw) == nil && status.Unmarshal(object.Raw) == nil && status.Code == http.StatusGone
}
