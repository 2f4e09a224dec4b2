package conformance

import (
	"bufio"
	"bytes"
	"encoding/binary"
	stdjson "encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing/iotest"

	"github.com/fxamacker/cbor/v2"

	"sluice/codec/proto"
)

// stream reads a watch event by event.
type stream struct {
	in       *bufio.Reader
	protobuf bool
	items    *cbor.Decoder // of a watch in CBOR; nil otherwise
	read     bytes.Buffer  // the bytes that items has read, from the next event on
	consumed int           // how many bytes of events precede read
}

func newStream(resp *http.Response) *stream {
	body, err := decompressor(resp.Header.Get("Content-Encoding"), resp.Body)
	if err != nil {
		body = iotest.ErrReader(err)
	}
	s := &stream{in: bufio.NewReader(body), protobuf: isFrames(resp.Header)}
	if isCBOR(resp.Header) {
		s.items = cborItems.NewDecoder(io.TeeReader(s.in, &s.read))
	}
	return s
}

// isFrames reports whether a response is a watch in Protobuf.
func isFrames(h http.Header) bool {
	contentType := h.Get("Content-Type")
	return strings.Contains(contentType, "protobuf") && strings.Contains(contentType, "stream=watch")
}

// next returns the bytes of the next event, and its type.
func (s *stream) next() (event []byte, typ string, err error) {
	switch {
	case s.items != nil:
		return s.nextItem()
	case s.protobuf:
		return s.nextFrame()
	}
	if event, err = s.in.ReadBytes('\n'); err != nil {
		return event, "", err
	}
	var head struct{ Type string }
	err = stdjson.Unmarshal(event, &head)
	return event, head.Type, err
}

func (s *stream) nextItem() (event []byte, typ string, err error) {
	if err := s.items.Decode(&anything{}); err != nil {
		return nil, "", err
	}
	event = bytes.Clone(s.read.Next(s.items.NumBytesRead() - s.consumed))
	s.consumed = s.items.NumBytesRead()
	var head struct {
		Type cbor.ByteString `cbor:"type"`
	}
	err = cborItems.Unmarshal(event, &head)
	return event, string(head.Type), err
}

func (s *stream) nextFrame() (event []byte, typ string, err error) {
	event = make([]byte, 4)
	if _, err := io.ReadFull(s.in, event); err != nil {
		return nil, "", err
	}
	event = append(event, make([]byte, binary.BigEndian.Uint32(event))...)
	if _, err := io.ReadFull(s.in, event[4:]); err != nil {
		return nil, "", fmt.Errorf("frame: %w", err)
	}
	text, _, err := proto.ParseEvent(event[4:])
	return event, string(text), err
}

// Events returns the first n events of a watch, normalized.
func Events(watch *http.Response, n int) ([][]byte, error) {
	all, _, err := newStream(watch).events(n)
	if err != nil {
		err = fmt.Errorf("after %d of %d events: %w", len(all), n, err)
	}
	for i := range all {
		all[i] = Normalize(all[i], watch.Header, false)
	}
	return all, err
}

// events reads n events. Bookmarks other than the end of initial events do not count: servers send
// them at any time.
func (s *stream) events(n int) (all [][]byte, types []string, err error) {
	for len(all) < n {
		event, typ, err := s.next()
		if err != nil {
			return all, types, err
		}
		if typ != "BOOKMARK" || bytes.Contains(event, initialEventsEnd) {
			all, types = append(all, event), append(types, typ)
		}
	}
	return all, types, nil
}

// until reads up to and including the first event that contains the text.
func (s *stream) until(text string) ([]byte, error) {
	var all []byte
	for {
		event, _, err := s.next()
		all = append(all, event...)
		if err != nil {
			return all, fmt.Errorf("without %q: %w", text, err)
		}
		if bytes.Contains(event, []byte(text)) {
			return all, nil
		}
	}
}
