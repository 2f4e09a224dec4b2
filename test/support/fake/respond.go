package fake

import (
	"fmt"
	"io"
	"net/http"
	"time"

	"sluice/codec"
)

// Body responds with a whole body.
func Body(contentType string, data []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write(data)
	}
}

// AtVersion responds with an empty list of metadata at a version.
func AtVersion(version uint64) http.HandlerFunc {
	return Body(codec.MediaJSON, fmt.Appendf(nil, `{"kind":"PartialObjectMetadataList","metadata":{"resourceVersion":"%d"},"items":[]}`, version))
}

// Release responds with the version of an apiserver of a release.
func Release(gitVersion string) http.HandlerFunc {
	return Body(codec.MediaJSON, fmt.Appendf(nil, `{"gitVersion":%q}`, gitVersion))
}

// Refuse responds with a status and headers, given as pairs of name and value.
func Refuse(code int, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, "refused")
	}
}

// Hang neither responds nor ends.
func Hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// Discovery responds with the discovery document of the resource's version.
func (r Resource) Discovery() http.HandlerFunc {
	return Body(codec.MediaJSON, fmt.Appendf(nil,
		`{"kind":"APIResourceList","resources":[{"name":%q,"kind":%q,"namespaced":%v,"verbs":["get","list","watch"]}]}`,
		r.GVR.Resource, r.Kind, r.Namespaced))
}

// WidgetNames is the end of the CRD of Widgets: the scope in its spec, and the accepted names in its status.
const WidgetNames = `"scope":"Namespaced"},"status":{"acceptedNames":{"kind":"Widget","listKind":"WidgetList"}}`

// CRD responds with a CRD of Widgets at a generation, with a property in its schema and a printer
// column.
func CRD(generation int, property, column string) http.HandlerFunc {
	return Body(codec.MediaJSON, fmt.Appendf(nil, `{"metadata":{"uid":"u","generation":%d},"spec":{"versions":[{"name":"v1","schema":{%q:{}},
		"additionalPrinterColumns":[{"name":%q,"type":"string","jsonPath":".spec.x"}]}],`+WidgetNames+`}`, generation, property, column))
}

// Table responds with a Table of Widgets without rows, with the printer column of a CRD and the words of a release for Name.
func Table(column, words string) http.HandlerFunc {
	return Body(codec.MediaJSON, fmt.Appendf(nil, `{"columnDefinitions":[`+
		`{"name":"Name","type":"string","format":"name","description":%q,"priority":0},`+
		`{"name":%q,"type":"string","format":"","description":"Path: .spec.x","priority":0}]}`, words, column))
}

// PageBody responds with a page of a list.
func (r Resource) PageBody(rv, next string, objects ...string) http.HandlerFunc {
	contentType := codec.MediaJSON
	if r.Protobuf {
		contentType = codec.MediaProtobuf
	}
	if r.CBOR {
		contentType = codec.MediaCBOR
	}
	return Body(contentType, r.Page(rv, next, objects...))
}

// Stream sends events and then stays open until the client leaves.
func (r Resource) Stream(events ...[]byte) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		r.Ended(events...)(w, req)
		<-req.Context().Done()
	}
}

// Ended sends events and ends in an orderly way.
func (r Resource) Ended(events ...[]byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", r.ContentType())
		w.WriteHeader(http.StatusOK)
		for _, e := range events {
			_, _ = w.Write(e)
		}
		_ = http.NewResponseController(w).Flush()
	}
}

// EndedAfter sends events and ends in an orderly way after a while.
func (r Resource) EndedAfter(life time.Duration, events ...[]byte) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		r.Ended(events...)(w, req)
		time.Sleep(life)
	}
}

// Cut sends events and breaks the connection.
func (r Resource) Cut(events ...[]byte) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		r.Ended(events...)(w, req)
		panic(http.ErrAbortHandler)
	}
}
