package consistency

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"sluice/test/consistency/history"
	"sluice/test/harness"
)

// requestTimeout bounds one request. Faults are shorter, but the restart of an apiserver may be
// longer.
const requestTimeout = 15 * time.Second

// server is Sluice or the apiserver, with connections of one client.
type server struct {
	name   string
	raw    *harness.RawClient
	header http.Header // of each request
}

func newServer(t *testing.T, name string, config *rest.Config) *server {
	t.Helper()
	raw, err := harness.NewRawClient(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(raw.Close)
	return &server{name, raw, http.Header{"Accept": {"application/json"}}}
}

// projected has the server leave out nothing that an object of the resource has, by a projection.
func (s *server) projected(r resource) {
	keep := "metadata"
	switch {
	case r.custom():
		keep += "+spec"
	case r == configMaps:
		keep += "+data"
	}
	s.header = http.Header{"Accept": {"application/json;keep=" + keep + ";quiet=1"}}
}

// sourceHeader is the response header in which Sluice names the source of an answer.
const sourceHeader = "Sluice-Source"

// source returns the source of an answer: "apiserver", "sluice: cache".
func (s *server) source(h http.Header) string {
	if from := h.Get(sourceHeader); from != "" {
		return s.name + ": " + from
	}
	return s.name
}

// get requests a list or an object. A response with another code than 200 is an error.
func (s *server) get(ctx context.Context, path string, query url.Values, compressed bool) (body []byte, source string, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	q := harness.Request{Path: path + "?" + query.Encode(), Header: s.header.Clone()}
	if compressed {
		q.Header.Set("Accept-Encoding", "gzip")
	}
	a, err := s.raw.Do(ctx, q)
	if err != nil {
		return nil, "", err
	}
	if a.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(bytes.NewReader(a.Body))
		if err != nil {
			return nil, "", err
		}
		if a.Body, err = io.ReadAll(z); err != nil {
			return nil, "", err
		}
	}
	if a.Status != http.StatusOK {
		return nil, s.source(a.Header), newStatusError(a.Status, a.Body)
	}
	return a.Body, s.source(a.Header), nil
}

// list requests one page.
func (s *server) list(ctx context.Context, path string, query url.Values, compressed bool) (page history.Page, next string, err error) {
	body, source, err := s.get(ctx, path, query, compressed)
	if err != nil {
		return page, "", err
	}
	page, next, err = decodeList(body)
	page.Source = source
	return page, next, err
}

// events is an open watch.
type events struct {
	decoder *json.Decoder
	source  string
	close   func()
}

// watch opens a watch, which ends when the context does. A deprecated path says by itself that it is
// one.
func (s *server) watch(ctx context.Context, path string, query url.Values) (*events, error) {
	if !strings.Contains(path, "/watch/") {
		query.Set("watch", "1")
	}
	resp, err := s.raw.Open(ctx, harness.Request{Path: path + "?" + query.Encode(), Header: s.header})
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return nil, err
		}
		return nil, newStatusError(resp.StatusCode, body)
	}
	return &events{json.NewDecoder(resp.Body), s.source(resp.Header), func() { resp.Body.Close() }}, nil
}

// next returns the next event; end reports whether it ends the initial events.
func (e *events) next() (item history.Item, end bool, err error) {
	var event metav1.WatchEvent
	if err := e.decoder.Decode(&event); err != nil {
		return item, false, err
	}
	item, end, err = decodeEvent(event)
	item.Source = e.source
	return item, end, err
}
