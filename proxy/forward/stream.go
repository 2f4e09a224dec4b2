package forward

import (
	"fmt"
	"io"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/codec"
	"sluice/codec/cbor"
	"sluice/codec/json"
	"sluice/codec/table"
	"sluice/proxy/request"
)

// stream makes the answer a watch stream in the format that the client wants.
func (t *translation) stream(resp *http.Response) (*http.Response, error) {
	if resp.Header.Get("Content-Encoding") != "" {
		return resp, nil // nobody compresses watches; who does can be read by nobody
	}
	w := t.wish
	events, err := newEvents(resp.Body, w, t.info, &t.lease)
	if err != nil {
		return nil, codec.NewServerError("the apiserver's answer cannot be converted: " + err.Error())
	}
	t.info.Outcome.Format = w.format.Encoding.String()
	resp = remade(resp, w.format.ContentType(true))
	resp.Body = events
	resp.ContentLength = -1
	resp.Header.Del("Content-Length")
	return resp, nil
}

// events reads as a watch stream in one format what comes as one in JSON. It
// never waits while it has an event that was not read.
type events struct {
	io.Closer
	frames  *frames
	wish    *wish
	info    *request.Info
	writer  *codec.Writer
	ends    *codec.Writer // of the bookmark that ends the initial events
	out     []byte        // of it: what was not read yet
	buf     []byte
	started bool // an event was converted
	err     error
}

func newEvents(body io.ReadCloser, w *wish, info *request.Info, l *lease) (*events, error) {
	r := &codec.Resource{
		Group: info.APIGroup, Version: info.APIVersion, Style: codec.Unstructured, Source: codec.JSON, Columns: table.Default(),
	}
	writer, err := codec.NewWriter(r, w.format)
	if err != nil {
		return nil, err
	}
	// That one keeps its object, for the annotation (wire.md 1.5).
	whole := w.format
	if whole.Include == codec.IncludeNone {
		whole.Include = codec.IncludeMetadata
	}
	ends, err := codec.NewWriter(r, whole)
	info.Outcome.Transcoded = w.format.Encoding != codec.JSON // else it may turn out that nothing has to be
	return &events{Closer: body, frames: newFrames(body, l), wish: w, info: info, writer: writer, ends: ends}, err
}

// Read implements io.Reader. It fails where the stream that it reads fails, and
// only after what came before was read.
func (e *events) Read(p []byte) (int, error) {
	for len(e.out) == 0 {
		if e.err == nil {
			e.err = e.more()
		}
		if e.err != nil && len(e.out) == 0 {
			return 0, e.err
		}
	}
	n := copy(p, e.out)
	e.out = e.out[n:]
	return n, nil
}

// more converts the next event.
func (e *events) more() error {
	if cap(e.buf) > eventIdle { // nothing large is kept while it waits
		e.buf, e.out = nil, nil
		e.frames.lease.shrink(e.frames.held())
	}
	frame, err := e.frames.next()
	if err != nil {
		return err
	}
	e.buf, err = e.append(e.buf[:0], frame)
	e.out = e.buf
	return err
}

// append appends one event.
func (e *events) append(dst []byte, frame json.Value) ([]byte, error) {
	if err := json.Valid(frame, json.Limits{AllowInvalidUTF8: true, Depth: maxNesting}); err != nil {
		return dst, fmt.Errorf("%w: %w", errEvent, err)
	}
	dst, err := e.reserve(dst, frame)
	if err != nil {
		return dst, err
	}
	typ, _ := frame.Get("type").Text()
	object := frame.Get("object")
	if object.Kind() != json.Object {
		return dst, fmt.Errorf("%w: %q has no object", errEvent, typ)
	}
	first := !e.started
	e.started = true
	switch {
	case e.wish.format.Encoding == codec.JSON && e.wish.has(object):
		return append(append(dst, frame...), '\n'), nil
	case typ == codec.EventError:
		return e.appendError(dst, object)
	}
	e.info.Outcome.Transcoded = true
	writer := e.writer
	if typ == codec.EventBookmark && object.Get("metadata", "annotations", metav1.InitialEventsAnnotationKey) != nil {
		writer = e.ends
	}
	dst, err = writer.AppendEvent(dst, typ, object, first)
	if err != nil {
		return dst, fmt.Errorf("%w: %w", errEvent, err)
	}
	return dst, nil
}

// reserve makes room for what an event becomes.
func (e *events) reserve(dst []byte, frame json.Value) ([]byte, error) {
	size := 2*estimate(frame, e.wish.format, 0) + rowBytes // a Table's cells repeat some
	if e.wish.format.Shape == codec.Table {
		size += tableBytes
	}
	if size <= eventIdle {
		return dst, nil
	}
	if size > maxMade {
		return dst, fmt.Errorf("%w: it would have more than %d bytes", errEvent, maxMade)
	}
	if err := e.frames.lease.hold(e.frames.held() + size); err != nil {
		return dst, err
	}
	return make([]byte, 0, size), nil
}

// appendError appends an ERROR event, which carries a Status in any shape.
func (e *events) appendError(dst []byte, status json.Value) ([]byte, error) {
	if e.wish.format.Encoding == codec.CBOR {
		return cbor.AppendFromJSON(cbor.AppendEventHead(dst, codec.EventError), status)
	}
	s := &codec.Status{}
	s.Message, _ = status.Get("message").Text()
	s.Reason, _ = status.Get("reason").Text()
	code, _ := status.Get("code").Int()
	s.Code = int(code)
	return e.writer.AppendErrorEvent(dst, s), nil
}
