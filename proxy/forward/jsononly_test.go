package forward

import (
	"bytes"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"

	"sluice/codec"
)

// jsonOnly is an API server that has JSON and nothing else: no other encoding
// of answers (406) or bodies (415), neither Tables nor metadata.
type jsonOnly struct {
	answer func(w http.ResponseWriter, r *http.Request, body []byte) // after both were accepted

	mu   sync.Mutex
	asks []ask // guarded by mu
}

// ask is a request as it came.
type ask struct {
	method, contentType, accept, encoding, body string
}

func (s *jsonOnly) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	s.asks = append(s.asks, ask{r.Method, r.Header.Get("Content-Type"), r.Header.Get("Accept"), r.Header.Get("Accept-Encoding"), string(body)})
	s.mu.Unlock()
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case !(codec.Client{Accept: r.Header.Get("Accept")}).Takes(codec.JSON):
		refuse(w, codec.NewNotAcceptable("only the following media types are accepted: application/json"))
	case len(body) > 0 && media != codec.MediaJSON && media != mediaApplyYAML:
		refuse(w, unsupported)
	default:
		w.Header().Set("Content-Type", codec.MediaJSON)
		s.answer(w, r, body)
	}
}

// unsupported is how an apiserver refuses the encoding of a body.
var unsupported = &codec.Status{Message: "the body of the request was in an unknown format", Reason: "UnsupportedMediaType", Code: 415}

func refuse(w http.ResponseWriter, s *codec.Status) {
	w.Header().Set("Content-Type", codec.MediaJSON)
	w.WriteHeader(s.Code)
	_, _ = w.Write(s.Append(nil, codec.Format{}))
}

// seen returns what was asked, and forgets it.
func (s *jsonOnly) seen() []ask {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.asks = nil }()
	return s.asks
}

// says answers with a text.
func says(text string) func(http.ResponseWriter, *http.Request, []byte) {
	return func(w http.ResponseWriter, _ *http.Request, _ []byte) { _, _ = io.WriteString(w, text) }
}

// stores answers with the object that was sent, as a server does that has
// stored it.
func stores(w http.ResponseWriter, _ *http.Request, body []byte) {
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write(body)
}

const (
	things   = "/apis/lab.example.com/v1/namespaces/ns/things"
	thing    = `{"apiVersion":"lab.example.com/v1","kind":"Thing","metadata":{"name":"a","namespace":"ns","resourceVersion":"7","creationTimestamp":"2026-01-02T03:04:05Z"},"spec":{"n":1}}`
	thing2   = `{"apiVersion":"lab.example.com/v1","kind":"Thing","metadata":{"name":"b","namespace":"ns","resourceVersion":"8","creationTimestamp":"2026-01-02T03:04:06Z"},"spec":{"n":2}}`
	thingsOf = `{"apiVersion":"lab.example.com/v1","kind":"ThingList","metadata":{"continue":"more","remainingItemCount":3,"resourceVersion":"9"},"items":[` + thing + `,` + thing2 + `]}`

	asTable    = ";as=Table;g=meta.k8s.io;v=v1"
	asMetadata = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	asList     = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)

// encoded returns JSON in another encoding.
func encoded(json string, to codec.Encoding) string {
	out, err := codec.Transcode(nil, []byte(json), codec.JSON, to, codec.Limits{})
	if err != nil {
		panic(err) // for JSON of the tests
	}
	return string(out)
}

// decoded returns what is in CBOR or YAML as compact, sorted JSON.
func decoded(body string, contentType string) string {
	from := codec.JSON
	switch {
	case strings.HasPrefix(contentType, codec.MediaCBOR):
		from = codec.CBOR
	case contentType == codec.MediaYAML:
		from = codec.YAML
	}
	if from == codec.JSON {
		from, body = codec.CBOR, encoded(body, codec.CBOR)
	}
	out, err := codec.Transcode(nil, []byte(body), from, codec.JSON, codec.Limits{})
	if err != nil {
		return err.Error() + " in " + string(bytes.ToValidUTF8([]byte(body), []byte("?")))
	}
	return string(out)
}

// sorted returns JSON compact and sorted.
func sorted(json string) string { return decoded(json, codec.MediaJSON) }
