package transcode

import (
	"fmt"
	"io"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"sluice/codec"
	"sluice/codec/cbor"
	"sluice/codec/json"
	"sluice/codec/table"
	"sluice/proxy/limits"
	"sluice/proxy/request"
)

// transcodeWatch transcodes a JSON watch stream to the target. A compressed stream cannot be
// re-encoded event by event, so it passes; none is asked for.
func (e *Exchange) transcodeWatch(resp *http.Response) (*http.Response, error) {
	if resp.Header.Get("Content-Encoding") != "" {
		return resp, nil
	}
	stream, err := newWatchStream(resp.Body, e.target, e.info, e.memory)
	if err != nil {
		return nil, cannotTranscode(err)
	}
	format := e.target.format
	e.info.Outcome.Format = format.Encoding.String()
	resp = withContentType(resp, format.ContentType(true))
	resp.Body = stream
	resp.ContentLength = -1
	resp.Header.Del("Content-Length")
	return resp, nil
}

// watchStream is an io.Reader that reads a JSON watch stream and returns the same events in the
// target's format. It never waits for an event while a transcoded one has not been read.
type watchStream struct {
	io.Closer
	events *eventReader
	target *target
	info   *request.Info
	writer *codec.Writer
	// endWriter writes the bookmark that marks the end of the initial events. It keeps its object,
	// for the annotation (wire.md 1.5).
	endWriter *codec.Writer
	out       []byte // transcoded, not read yet
	buf       []byte // the buffer of out
	started   bool   // an event was read
	err       error
}

func newWatchStream(body io.ReadCloser, t *target, info *request.Info, memory *limits.Hold) (*watchStream, error) {
	r := &codec.Resource{
		Group: info.APIGroup, Version: info.APIVersion, Style: codec.Unstructured, Source: codec.JSON, Columns: table.Default(),
	}
	writer, err := codec.NewWriter(r, t.format)
	if err != nil {
		return nil, err
	}
	withObject := t.format
	if withObject.Include == codec.IncludeNone {
		withObject.Include = codec.IncludeMetadata
	}
	endWriter, err := codec.NewWriter(r, withObject)
	info.Outcome.Transcoded = t.format.Encoding != codec.JSON // in JSON, each event may have the target's shape
	return &watchStream{
		Closer: body, events: newEventReader(body, memory), target: t, info: info, writer: writer, endWriter: endWriter,
	}, err
}

// Read implements io.Reader. An error of the upstream's stream is returned once all events before
// it have been read.
func (s *watchStream) Read(p []byte) (int, error) {
	for len(s.out) == 0 {
		if s.err == nil {
			s.err = s.fill()
		}
		if s.err != nil && len(s.out) == 0 {
			return 0, s.err
		}
	}
	n := copy(p, s.out)
	s.out = s.out[n:]
	return n, nil
}

// fill reads the next event and transcodes it. Before it waits, it frees a large buffer.
func (s *watchStream) fill() error {
	if cap(s.buf) > maxIdleBuffer {
		s.buf, s.out = nil, nil
		s.events.memory.Shrink(s.events.reserved)
	}
	event, err := s.events.next()
	if err != nil {
		return err
	}
	s.buf, err = s.appendEvent(s.buf[:0], event)
	s.out = s.buf
	return err
}

func (s *watchStream) appendEvent(dst []byte, event json.Value) ([]byte, error) {
	dst, err := s.reserve(dst, event)
	if err != nil {
		return dst, err
	}
	typ, _ := event.Get("type").Text()
	object := event.Get("object")
	if object.Kind() != json.Object {
		return dst, fmt.Errorf("%w: %q has no object", errEvent, typ)
	}
	first := !s.started
	s.started = true
	if s.target.format.Encoding == codec.JSON && s.target.matches(object) {
		return append(append(dst, event...), '\n'), nil
	}
	if err := json.Valid(event, maxDepth); err != nil {
		return dst, fmt.Errorf("%w: %w", errEvent, err)
	}
	if typ == string(watch.Error) {
		return s.appendError(dst, object)
	}
	s.info.Outcome.Transcoded = true
	writer := s.writer
	if typ == string(watch.Bookmark) && object.Get("metadata", "annotations", metav1.InitialEventsAnnotationKey) != nil {
		writer = s.endWriter
	}
	dst, err = writer.AppendEvent(dst, typ, object, first)
	if err != nil {
		return dst, fmt.Errorf("%w: %w", errEvent, err)
	}
	return dst, nil
}

// reserve returns dst, or a buffer in its place that is large enough for the transcoded event.
func (s *watchStream) reserve(dst []byte, event json.Value) ([]byte, error) {
	size := 2*maxSize(event, s.target.format, 0) + rowBytes // cells of a Table repeat some of it
	if s.target.format.Shape == codec.Table {
		size += columnBytes
	}
	if size <= maxIdleBuffer {
		return dst, nil
	}
	if size > maxTranscoded {
		return dst, fmt.Errorf("%w: it would have more than %d bytes", errEvent, maxTranscoded)
	}
	if err := s.events.memory.Reserve(s.events.reserved + size); err != nil {
		return dst, err
	}
	return make([]byte, 0, size), nil
}

// appendError appends an ERROR event, whose object is a Status in every shape.
func (s *watchStream) appendError(dst []byte, object json.Value) ([]byte, error) {
	if s.target.format.Encoding == codec.CBOR {
		return cbor.AppendFromJSON(cbor.AppendEventHead(dst, string(watch.Error)), object)
	}
	status := &metav1.Status{}
	status.Message, _ = object.Get("message").Text()
	reason, _ := object.Get("reason").Text()
	code, _ := object.Get("code").Int()
	status.Reason, status.Code = metav1.StatusReason(reason), int32(code)
	return s.writer.AppendErrorEvent(dst, status), nil
}
