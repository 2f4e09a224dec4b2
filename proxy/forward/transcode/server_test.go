package transcode_test

import (
	"bytes"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"sluice/codec"
	"sluice/codec/cbor"
	"sluice/codec/negotiate"
	"sluice/proxy/request"
	"sluice/proxy/response"
	"sluice/test/support/forwardtest"
)

const (
	thingsPath = "/apis/lab.example.com/v1/namespaces/ns/things"
	thing      = `{"apiVersion":"lab.example.com/v1","kind":"Thing","metadata":{"name":"a","namespace":"ns","resourceVersion":"7","creationTimestamp":"2026-01-02T03:04:05Z"},"spec":{"n":1}}`
	thing2     = `{"apiVersion":"lab.example.com/v1","kind":"Thing","metadata":{"name":"b","namespace":"ns","resourceVersion":"8","creationTimestamp":"2026-01-02T03:04:06Z"},"spec":{"n":2}}`
	thingList  = `{"apiVersion":"lab.example.com/v1","kind":"ThingList","metadata":{"continue":"more","remainingItemCount":3,"resourceVersion":"9"},"items":[` + thing + `,` + thing2 + `]}`

	asTable    = ";as=Table;g=meta.k8s.io;v=v1"
	asMetadata = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	asList     = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)

// jsonServer is an apiserver that supports JSON only: it refuses other encodings of responses (406)
// and bodies (415), Tables and metadata.
type jsonServer struct {
	respond func(w http.ResponseWriter, r *http.Request, body []byte) // to what it does not refuse

	mu       sync.Mutex
	requests []receivedRequest // guarded by mu
}

// newEnv returns an Env with an authenticated client and this upstream.
func newEnv(t *testing.T, upstream http.HandlerFunc) *forwardtest.Env {
	t.Helper()
	return forwardtest.New(t, forwardtest.Settings{Caller: request.BearerToken, Handler: upstream})
}

// post sends a request body in the given Content-Type and returns the response. An empty accept
// sends no Accept header.
func post(t *testing.T, e *forwardtest.Env, contentType, accept, body string) *http.Response {
	t.Helper()
	h := http.Header{"Content-Type": {contentType}}
	if accept != "" {
		h.Set("Accept", accept)
	}
	return e.Do(t, e.NewRequest(t, "POST", thingsPath, h, strings.NewReader(body)))
}

// receivedRequest is a request as the server received it.
type receivedRequest struct {
	method, contentType, accept, encoding, body string
}

func (s *jsonServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	s.requests = append(s.requests, receivedRequest{r.Method, r.Header.Get("Content-Type"), r.Header.Get("Accept"), r.Header.Get("Accept-Encoding"), string(body)})
	s.mu.Unlock()
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case !(negotiate.Request{Accept: r.Header.Get("Accept")}).Accepts(codec.JSON):
		writeStatus(w, response.NewNotAcceptable("only the following media types are accepted: application/json"))
	case len(body) > 0 && media != codec.MediaJSON && media != "application/apply-patch+yaml":
		writeStatus(w, unsupportedMediaType)
	default:
		w.Header().Set("Content-Type", codec.MediaJSON)
		s.respond(w, r, body)
	}
}

// unsupportedMediaType is the apiserver's refusal of the format of a body.
var unsupportedMediaType = &apierrors.StatusError{ErrStatus: metav1.Status{
	Message: "the body of the request was in an unknown format", Reason: "UnsupportedMediaType", Code: 415,
}}

// writeStatus responds with an error.
func writeStatus(w http.ResponseWriter, e *apierrors.StatusError) {
	w.Header().Set("Content-Type", codec.MediaJSON)
	w.WriteHeader(int(e.ErrStatus.Code))
	_, _ = w.Write(codec.AppendStatus(nil, &e.ErrStatus, codec.Format{}))
}

// takeRequests returns the requests received since the last call.
func (s *jsonServer) takeRequests() []receivedRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.requests = nil }()
	return s.requests
}

// respondWith responds with a text.
func respondWith(text string) func(http.ResponseWriter, *http.Request, []byte) {
	return func(w http.ResponseWriter, _ *http.Request, _ []byte) { _, _ = io.WriteString(w, text) }
}

// respondStored responds with the object received, as to a create.
func respondStored(w http.ResponseWriter, _ *http.Request, body []byte) {
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write(body)
}

// encode returns JSON in another encoding.
func encode(json string, to codec.Encoding) string {
	out, err := codec.AppendFromJSON(nil, []byte(json), to)
	if err != nil {
		panic(err) // the JSON is a constant of the tests
	}
	return string(out)
}

// decode returns JSON, YAML or CBOR as compact JSON with sorted names.
func decode(body string, contentType string) string {
	var out []byte
	var err error
	switch {
	case contentType == codec.MediaYAML:
		if out, err = yaml.YAMLToJSON([]byte(body)); err == nil {
			return decode(string(out), codec.MediaJSON)
		}
	case strings.HasPrefix(contentType, codec.MediaCBOR):
		out, err = cbor.AppendJSON(nil, []byte(body))
	default:
		out, err = cbor.AppendJSON(nil, []byte(encode(body, codec.CBOR)))
	}
	if err != nil {
		return err.Error() + " in " + string(bytes.ToValidUTF8([]byte(body), []byte("?")))
	}
	return string(out)
}

// canonical returns JSON compact and with sorted names.
func canonical(json string) string { return decode(json, codec.MediaJSON) }
