package listwatch

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/codec/cbor"
	"sluice/codec/json"
)

// jsonEncoding reads JSON.
type jsonEncoding struct{}

// The apiserver sends managed fields as they were written, UTF-8 or not.
func (jsonEncoding) list(body []byte) (list, error) {
	if err := json.Valid(body, 0); err != nil {
		return list{}, err
	}
	meta, items := json.Value(body).Get("metadata"), json.Value(body).Get("items")
	rv, _ := meta.Get("resourceVersion").Bytes()
	continues, _ := meta.Get("continue").Text()
	version, err := parseVersion(rv)
	return list{version: version, continues: continues, items: func(yield func([]byte, error) bool) {
		for _, item := range items.Elements {
			if !yield(item, nil) {
				return
			}
		}
	}}, err
}

func (jsonEncoding) metadata(object []byte) (metadata, error) {
	meta, err := json.ParseObjectMeta(object)
	if err != nil {
		return metadata{}, err
	}
	version, err := parseVersion(meta.ResourceVersion)
	return metadata{
		namespace: meta.Namespace, name: meta.Name, version: version,
		labels: func(yield func(key, value []byte) bool) {
			for key, value := range meta.Labels.Members {
				if text, _ := value.Bytes(); !yield(key, text) {
					return
				}
			}
		},
		annotation: func(name string) string { value, _ := meta.Annotations.Get(name).Text(); return value },
	}, err
}

func (jsonEncoding) status(object []byte) (s metav1.Status, err error) {
	return s, stdjson.Unmarshal(object, &s)
}

func (jsonEncoding) events(body io.Reader, _ int) eventReader {
	limit := &limitReader{in: body}
	return &jsonEvents{limit: limit, from: limit, in: jsonSequence(limit)}
}

func jsonSequence(in io.Reader) *jsontext.Decoder {
	return jsontext.NewDecoder(in, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// jsonEvents reads the events of a watch in JSON.
type jsonEvents struct {
	limit *limitReader
	from  io.Reader // the input of in: buffered bytes, and limit
	in    *jsontext.Decoder
	long  bool // the buffer has grown
}

func (j *jsonEvents) next() (string, []byte, error) {
	if j.long {
		j.from = io.MultiReader(bytes.NewReader(bytes.Clone(j.in.UnreadBuffer())), j.from)
		j.in = jsonSequence(j.from)
	}
	j.limit.left = frameLimit
	event, err := j.in.ReadValue()
	j.long = len(event) > keptBuffer
	if err != nil {
		if !j.limit.ended {
			err = malformed(err)
		}
		return "", nil, err
	}
	eventType, _ := json.Value(event).Get("type").Text()
	return eventType, json.Value(event).Get("object"), nil
}

// limitReader fails once it has read left bytes.
type limitReader struct {
	in    io.Reader
	left  int
	ended bool // in has returned an error, such as io.EOF
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

// cborEncoding reads CBOR as JSON whose whole-number floats end in .0. Its objects are in that form.
type cborEncoding struct{ jsonEncoding }

func (c cborEncoding) list(body []byte) (list, error) {
	text, err := cbor.AppendJSON(nil, body)
	if err != nil {
		return list{}, err
	}
	return c.jsonEncoding.list(text)
}

func (cborEncoding) events(body io.Reader, _ int) eventReader {
	limit := &limitReader{in: body}
	return &cborEvents{limit: limit, in: cbor.NewSequence(limit)}
}

// cborEvents reads the events of a watch in CBOR.
type cborEvents struct {
	limit *limitReader
	in    *cbor.Sequence
	event []byte // reused
}

func (c *cborEvents) next() (string, []byte, error) {
	if cap(c.event) > keptBuffer {
		c.event = nil
	}
	c.limit.left = frameLimit
	item, err := c.in.Next()
	if err != nil {
		if !c.limit.ended {
			err = malformed(err)
		}
		return "", nil, err
	}
	if c.event, err = cbor.AppendJSON(c.event[:0], item); err != nil {
		return "", nil, malformed(err)
	}
	eventType, _ := json.Value(c.event).Get("type").Text()
	return eventType, json.Value(c.event).Get("object"), nil
}
