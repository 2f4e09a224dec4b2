package servetest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"k8s.io/apiserver/pkg/storage"

	"sluice/proxy/request"
)

// Reads of foos, and media types.
const (
	FooWatch   = FooList + "?watch=1&"
	Bookmarks  = "&allowWatchBookmarks=true"
	FromThree  = "resourceVersion=3"
	Streaming  = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
	FooList    = "/apis/ex.io/v1/foos"
	AsTable    = "application/json;as=Table;g=meta.k8s.io;v=v1"
	AsMetadata = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)

// Get serves a request out of the cache.
func (e *Env) Get(url string, header http.Header) *httptest.ResponseRecorder {
	e.Helper()
	w := httptest.NewRecorder()
	if outcome := e.Do(w, e.Request(url, header)); outcome.Source != request.SourceCache {
		e.Fatalf("%s: outcome %+v", url, outcome)
	}
	return w
}

// Decoded returns the body of a response without its content coding.
func Decoded(t *testing.T, w *httptest.ResponseRecorder) []byte {
	t.Helper()
	var r io.Reader = w.Body
	var err error
	switch coding := w.Header().Get("Content-Encoding"); coding {
	case "gzip":
		r, err = gzip.NewReader(w.Body)
	case "zstd":
		r, err = zstd.NewReader(w.Body)
	case "":
	default:
		t.Fatalf("coding %q", coding)
	}
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// Codings are the content codings that clients accept.
var Codings = []string{"", "gzip", "zstd"}

// FooNames is a list in JSON.
type FooNames struct {
	Kind     string
	Metadata struct {
		ResourceVersion, Continue string
		RemainingItemCount        *int64
	}
	Items []struct {
		Metadata struct{ Name, ResourceVersion string }
	}
}

func (l *FooNames) Names() (all []string) {
	for _, item := range l.Items {
		all = append(all, item.Metadata.Name+"@"+item.Metadata.ResourceVersion)
	}
	return all
}

func (e *Env) List(url string) (l FooNames) {
	e.Helper()
	if err := json.Unmarshal(e.Get(url, nil).Body.Bytes(), &l); err != nil {
		e.Fatal(err)
	}
	return l
}

// Token returns a continue token of the apiserver.
func Token(t testing.TB, version int64, start string) string {
	t.Helper()
	text, err := storage.EncodeContinue("/registry"+start, "/registry", version)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
