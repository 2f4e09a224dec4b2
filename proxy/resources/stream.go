package resources

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"sluice/cache"
	"sluice/cache/reflector"
	"sluice/codec/json"
	"sluice/codec/proto"
)

// unreadable makes an error in an event one that ends the line of history: if
// the stream were resumed, the event would come again. Should the new state
// hold it too, requests pass.
func unreadable(err error) error {
	var told *statusError
	if err == nil || errors.As(err, &told) {
		return err
	}
	return fmt.Errorf("event: %w: %w", err, reflector.ErrRebuild)
}

// readAhead is the size of a stream's buffer.
const readAhead = 64 << 10

// typeOf returns the type of an event that changes the state.
func typeOf(text string) (cache.Type, bool) {
	for _, t := range []cache.Type{cache.Added, cache.Modified, cache.Deleted} {
		if t.String() == text {
			return t, true
		}
	}
	return 0, false
}

// protoStream reads a watch in Protobuf.
type protoStream struct {
	source *source
	body   io.Closer
	in     *bufio.Reader
	frame  []byte // reused
}

func newProtoStream(s *source, body io.ReadCloser) *protoStream {
	return &protoStream{source: s, body: body, in: bufio.NewReaderSize(body, readAhead)}
}

func (p *protoStream) Close() error { return p.body.Close() }

func (p *protoStream) Next() (reflector.Event, error) {
	frame, err := p.read()
	if err != nil {
		return reflector.Event{}, err
	}
	change, err := p.change(frame)
	return change, unreadable(err)
}

// change decodes one event.
func (p *protoStream) change(frame []byte) (reflector.Event, error) {
	text, object, err := proto.ParseEvent(frame)
	if err != nil {
		return reflector.Event{}, err
	}
	u, err := proto.ParseEnvelope(object)
	if err != nil {
		return reflector.Event{}, err
	}
	switch t, changes := typeOf(string(text)); {
	case changes:
		o, err := p.source.protoObject(u.Raw)
		if err != nil {
			return reflector.Event{}, err
		}
		return reflector.Event{Type: t, Object: o, Version: o.RV}, nil
	case string(text) == string(watch.Bookmark):
		return protoBookmark(u.Raw)
	case string(text) == string(watch.Error):
		var status metav1.Status
		if err := status.Unmarshal(u.Raw); err != nil {
			return reflector.Event{}, err
		}
		return reflector.Event{}, &statusError{code: int(status.Code), message: status.Message}
	}
	return reflector.Event{}, fmt.Errorf("event of unknown type %q: %w", text, reflector.ErrRebuild)
}

func (p *protoStream) read() ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(p.in, head[:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > frameLimit {
		return nil, fmt.Errorf("event of %d bytes, more than %d: %w", size, frameLimit, reflector.ErrRebuild)
	}
	if cap(p.frame) < int(size) {
		p.frame = make([]byte, size)
	}
	frame := p.frame[:size]
	if _, err := io.ReadFull(p.in, frame); err != nil {
		return nil, fmt.Errorf("event is cut short: %w", io.ErrUnexpectedEOF)
	}
	return frame, nil
}

// protoObject copies one raw object out of a larger buffer. An object that
// holds what the compiled-in types do not know turns the source to JSON.
func (s *source) protoObject(raw []byte) (*cache.Object, error) {
	if err := s.plan.Check(raw); err != nil {
		s.jsonOnly = true
		return nil, fmt.Errorf("%w: %w", err, reflector.ErrRebuild)
	}
	meta, err := proto.ParseObjectMeta(raw)
	if err != nil {
		return nil, err
	}
	version, err := parseVersion(meta.ResourceVersion)
	if err != nil {
		return nil, err
	}
	values, err := s.fields.ofProto(raw)
	if err != nil {
		return nil, err
	}
	return &cache.Object{
		Key:    cache.KeyOf(string(meta.Namespace), string(meta.Name)),
		RV:     version,
		Data:   bytes.Clone(raw),
		Labels: protoLabels(meta),
		Fields: values,
	}, nil
}

func protoBookmark(raw []byte) (reflector.Event, error) {
	meta, err := proto.ParseObjectMeta(raw)
	if err != nil {
		return reflector.Event{}, err
	}
	version, err := parseVersion(meta.ResourceVersion)
	end, _ := meta.Annotation(metav1.InitialEventsAnnotationKey)
	return reflector.Event{Version: version, InitialEventsEnd: string(end) == "true"}, err
}

// jsonStream reads a watch in JSON.
type jsonStream struct {
	source *source
	body   io.Closer
	limit  *limitReader
	in     *jsontext.Decoder
}

func newJSONStream(s *source, body io.ReadCloser) *jsonStream {
	limit := &limitReader{in: body}
	return &jsonStream{
		source: s, body: body, limit: limit,
		in: jsontext.NewDecoder(limit, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)),
	}
}

func (j *jsonStream) Close() error { return j.body.Close() }

// read returns the next event. It is valid until the next call.
func (j *jsonStream) read() (json.Value, error) {
	j.limit.left = frameLimit
	raw, err := j.in.ReadValue()
	if err != nil && !j.limit.ended {
		err = unreadable(err)
	}
	return json.Value(raw), err
}

func (j *jsonStream) Next() (reflector.Event, error) {
	event, err := j.read()
	if err != nil {
		return reflector.Event{}, err
	}
	change, err := j.change(event)
	return change, unreadable(err)
}

// change decodes one event.
func (j *jsonStream) change(event json.Value) (reflector.Event, error) {
	text, _ := event.Get("type").Text()
	object := event.Get("object")
	switch t, changes := typeOf(text); {
	case changes:
		o, err := j.source.jsonObject(bytes.Clone(object))
		if err != nil {
			return reflector.Event{}, err
		}
		return reflector.Event{Type: t, Object: o, Version: o.RV}, nil
	case text == string(watch.Bookmark):
		return j.bookmark(object)
	case text == string(watch.Error):
		code, _ := object.Get("code").Int()
		message, _ := object.Get("message").Text()
		return reflector.Event{}, &statusError{code: int(code), message: message}
	}
	return reflector.Event{}, fmt.Errorf("event of unknown type %q: %w", text, reflector.ErrRebuild)
}

// bookmark reads a bookmark, and keeps the first as the template of those that
// Sluice sends: only the upstream knows how a kind's empty fields are printed.
func (j *jsonStream) bookmark(object json.Value) (reflector.Event, error) {
	if j.source.resource.Bookmark == nil {
		j.source.resource.Bookmark = bytes.Clone(object)
	}
	meta, err := json.ParseObjectMeta(object)
	if err != nil {
		return reflector.Event{}, err
	}
	version, err := parseVersion(meta.ResourceVersion)
	end, _ := meta.Annotations.Get(metav1.InitialEventsAnnotationKey).Text()
	return reflector.Event{Version: version, InitialEventsEnd: end == "true"}, err
}

// jsonObject makes an object of data, which it takes over.
func (s *source) jsonObject(data []byte) (*cache.Object, error) {
	meta, err := json.ParseObjectMeta(data)
	if err != nil {
		return nil, err
	}
	version, err := parseVersion(meta.ResourceVersion)
	if err != nil {
		return nil, err
	}
	return &cache.Object{
		Key:    cache.KeyOf(string(meta.Namespace), string(meta.Name)),
		RV:     version,
		Data:   data,
		Labels: jsonLabels(meta.Labels),
		Fields: s.fields.ofJSON(data),
	}, nil
}

// limitReader fails once it has read left bytes.
type limitReader struct {
	in    io.Reader
	left  int
	ended bool // there is no more, for whatever reason
}

var errTooLong = errors.New("event is too long")

func (l *limitReader) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errTooLong
	}
	n, err := l.in.Read(p[:min(len(p), l.left)])
	l.left -= n
	l.ended = err != nil
	return n, err
}
