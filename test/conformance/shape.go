package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	"sigs.k8s.io/yaml"

	"sluice/codec/proto"
	"sluice/test/harness"
)

// A shape is what every run of one release has in common in its answer to a row: sorted lines without values such
// as names, versions and times.
type shape []string

// without returns the lines that another shape has not.
func (s shape) without(other shape) (lines []string) {
	for _, line := range s {
		if _, found := slices.BinarySearch(other, line); !found {
			lines = append(lines, line)
		}
	}
	return lines
}

// shapeOf returns the shape of a response: status, headers, and what addValue finds in its body or its events. A
// bookmark that does not end the initial events may come at any time, so it has no shape.
func shapeOf(a *harness.Response) shape {
	lines := shapeLines{fmt.Sprint("status ", a.Status): true}
	for _, name := range []string{"Content-Type", "Content-Encoding", "Vary", "Warning"} {
		if v := a.Header.Values(name); len(v) > 0 {
			lines[name+": "+strings.Join(v, " | ")] = true
		}
	}
	decompress(a)
	a.Header.Del("Content-Encoding")
	sequence := a.Header.Get("Content-Type") == "application/cbor-seq"
	if !sequence && !isFrames(a.Header) && !bytes.HasPrefix(a.Body, []byte(`{"type":"`)) {
		lines.addObject("", a.Body, a.Header)
		return slices.Sorted(maps.Keys(lines))
	}
	events := newStream(&http.Response{Header: a.Header, Body: io.NopCloser(bytes.NewReader(a.Body))})
	for event, typ, err := events.next(); err == nil; event, typ, err = events.next() {
		if typ != "BOOKMARK" || bytes.Contains(event, initialEventsEnd) {
			lines["event "+typ] = true
			lines.addObject(typ, event, a.Header)
		}
	}
	return slices.Sorted(maps.Keys(lines))
}

// shapeLines are the lines of a shape.
type shapeLines map[string]bool

// addObject adds the shape of an object or event in any encoding. That of a list or object in Protobuf is its kind,
// that of events nothing: the same row in JSON has the fields.
func (l shapeLines) addObject(where string, body []byte, h http.Header) {
	var content any
	var err error
	switch contentType := h.Get("Content-Type"); {
	case len(body) == 0, isFrames(h), contentType == "": // the last is a WebSocket
		return
	case strings.Contains(contentType, "protobuf"):
		u, err := proto.ParseEnvelope(body)
		l[fmt.Sprintf("kind %s %s %v", u.APIVersion, u.Kind, err)] = true
		return
	case isCBOR(h):
		err = direct.Unmarshal(body, &content)
	case strings.Contains(contentType, "yaml"):
		err = yaml.Unmarshal(body, &content)
	case strings.Contains(contentType, "json"):
		err = json.Unmarshal(body, &content)
	default:
		content = map[string]any{"message": string(body)}
	}
	if err != nil {
		l["malformed: "+err.Error()] = true
	}
	l.addValue(where, content)
}

// freeForm are fields that hold only values. The text of a field in telling belongs to the shape, without its numbers.
var (
	freeForm = []string{"labels", "annotations", "fieldsV1", "data", "binaryData", "matchLabels", "components", "paths", "cells"}
	telling  = []string{"kind", "reason", "message"}
	numbers  = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d+`)
)

// addValue adds the paths of a value's fields, and the columns of a Table.
func (l shapeLines) addValue(path string, value any) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			l.addValue(path+"[]", item)
		}
	case map[string]any:
		if strings.HasSuffix(path, ".columnDefinitions[]") {
			l[fmt.Sprintf("column %v (%v)", v["name"], v["type"])] = true
			l[fmt.Sprintf("column %v: %.60v", v["name"], v["description"])] = true
			return
		}
		for name, field := range v {
			in := path + "." + name
			if text, _ := field.(string); slices.Contains(telling, name) {
				in = strings.TrimSpace(in + " " + numbers.ReplaceAllString(text, "N"))
			}
			l[in] = true
			if !slices.Contains(freeForm, name) {
				l.addValue(in, field)
			}
		}
	}
}
