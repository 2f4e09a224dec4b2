package consistency

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"sluice/test/consistency/history"
	"sluice/test/harness"
)

// requestLimit is how long a client waits for an answer. Faults are shorter;
// an apiserver that starts again may not be.
const requestLimit = 15 * time.Second

// server is one that a client asks, on connections of the client's own.
type server struct {
	name string
	raw  *harness.RawClient
}

func newServer(t *testing.T, name string, config *rest.Config) *server {
	t.Helper()
	raw, err := harness.NewRawClient(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(raw.Close)
	return &server{name, raw}
}

// sourceHeader tells where Sluice has an answer from.
const sourceHeader = "Sluice-Source"

// source is who answered: "apiserver", "sluice: cache".
func (s *server) source(h http.Header) string {
	if from := h.Get(sourceHeader); from != "" {
		return s.name + ": " + from
	}
	return s.name
}

// get asks for a list or an object. Anything but a success is an error.
func (s *server) get(ctx context.Context, path string, query url.Values, zip bool) (body []byte, source string, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	q := harness.Request{Path: path + "?" + query.Encode(), Header: http.Header{"Accept": {"application/json"}}}
	if zip {
		q.Header.Set("Accept-Encoding", "gzip")
	}
	a, err := s.raw.Do(ctx, q)
	if err != nil {
		return nil, "", err
	}
	if a.Header.Get("Content-Encoding") == "gzip" {
		if a.Body, err = unzip(a.Body); err != nil {
			return nil, "", err
		}
	}
	if a.Status != http.StatusOK {
		return nil, s.source(a.Header), refused(a.Status, a.Body)
	}
	return a.Body, s.source(a.Header), nil
}

func unzip(body []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// list asks for one page.
func (s *server) list(ctx context.Context, path string, query url.Values, zip bool) (page history.Page, next string, err error) {
	body, source, err := s.get(ctx, path, query, zip)
	if err != nil {
		return page, "", err
	}
	page, next, err = decodeList(body)
	page.Source = source
	return page, next, err
}

// events is an open watch.
type events struct {
	body    io.Closer
	decoder *json.Decoder
	source  string
}

// watch opens a watch, which ends with the context at the latest.
func (s *server) watch(ctx context.Context, path string, query url.Values) (*events, error) {
	query.Set("watch", "1")
	resp, err := s.raw.Open(ctx, harness.Request{Path: path + "?" + query.Encode(), Header: http.Header{"Accept": {"application/json"}}})
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return nil, err
		}
		return nil, refused(resp.StatusCode, body)
	}
	return &events{resp.Body, json.NewDecoder(resp.Body), s.source(resp.Header)}, nil
}

// next returns the next event; end says that it ends the state.
func (e *events) next() (item history.Item, end bool, err error) {
	var ev event
	if err := e.decoder.Decode(&ev); err != nil {
		return item, false, err
	}
	item, end, err = ev.item()
	item.Source = e.source
	return item, end, err
}

func (e *events) close() { e.body.Close() }
