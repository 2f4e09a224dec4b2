package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"sluice/test/harness"
)

// responseLimit bounds the time of a response, with all clients of a scenario at once.
const responseLimit = 10 * time.Minute

// streamingQuery is the query of a consistent streaming list.
const streamingQuery = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan" +
	"&allowWatchBookmarks=true&timeoutSeconds=3600"

// query is a list, or a streaming list, and how a client reads the response.
type query struct {
	path   string
	header http.Header
	frames func() counter // of the events of a streaming list; nil for a list
	pages  bool           // in Protobuf, until there is no continue token
	// objects are those that a streaming list or all pages have, with at most so many updates meanwhile.
	objects, updates int
	unpack           bool              // decompress a list, as clients do that decode; streaming lists always are
	keep             io.Writer         // of the body as sent; nil drops it
	heads            func(http.Header) // sees the header of each response; nil means nothing
}

// answer is what a query was answered.
type answer struct {
	header   http.Header
	bytes    int64 // of the body as sent
	requests int
}

// ask sends a query and reads the whole response.
func (q query) ask(ctx context.Context, raw *harness.RawClient) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, responseLimit)
	defer cancel()
	switch {
	case q.pages:
		return q.askPages(ctx, raw)
	case q.frames != nil:
		return q.fetch(ctx, raw, q.path, true, func(body io.Reader) error {
			return readInitialEvents(body, q.frames(), q.objects, q.updates)
		})
	}
	return q.fetch(ctx, raw, q.path, q.unpack, drain)
}

// fetch sends one request and reads its body, decompressed or as sent.
func (q query) fetch(
	ctx context.Context, raw *harness.RawClient, path string, unpack bool, read func(io.Reader) error,
) (a answer, err error) {
	resp, err := raw.Open(ctx, harness.Request{Path: path, Header: q.header})
	if err != nil {
		return a, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return a, errors.New(resp.Status)
	}
	if q.heads != nil {
		q.heads(resp.Header)
	}
	body := &countingReader{in: resp.Body, to: q.keep}
	in, release := io.Reader(body), func() {}
	if unpack {
		if in, release, err = decompress(body, codingOf(resp.Header)); err != nil {
			return a, err
		}
	}
	defer release()
	err = read(in)
	return answer{resp.Header, body.n, 1}, err
}

// askPages follows continue tokens. A list of another length is an error.
func (q query) askPages(ctx context.Context, raw *harness.RawClient) (all answer, err error) {
	token, n := "", 0
	for {
		var page metav1.List
		a, err := q.fetch(ctx, raw, q.path+"&continue="+url.QueryEscape(token), true, func(body io.Reader) (err error) {
			page, err = decodePage(body)
			return err
		})
		if err != nil {
			return all, err
		}
		all = answer{a.header, all.bytes + a.bytes, all.requests + 1}
		n += len(page.Items)
		if token = page.Continue; token == "" {
			break
		}
	}
	if n != q.objects {
		return all, fmt.Errorf("%d objects in %d pages instead of %d", n, all.requests, q.objects)
	}
	return all, nil
}

// decodePage decodes the metadata of a Protobuf list and of its items: metav1.List has the field
// numbers of all lists, and takes the first field of an item as its content.
func decodePage(body io.Reader) (page metav1.List, err error) {
	defer fails(&err)
	text := must(io.ReadAll(body))
	envelope, found := bytes.CutPrefix(text, []byte("k8s\x00"))
	if !found {
		return page, errors.New("page is not Protobuf")
	}
	var unknown runtime.Unknown
	check(unknown.Unmarshal(envelope))
	return page, page.Unmarshal(unknown.Raw)
}

// drain reads to the end with a larger buffer than io.Discard has.
func drain(r io.Reader) error {
	buf := make([]byte, 64<<10)
	for {
		if _, err := r.Read(buf); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// countingReader counts the bytes that are read and copies them to a writer, unless it is nil.
type countingReader struct {
	in io.Reader
	to io.Writer
	n  int64
}

func (t *countingReader) Read(p []byte) (int, error) {
	n, err := t.in.Read(p)
	t.n += int64(n)
	if t.to != nil {
		if _, failed := t.to.Write(p[:n]); failed != nil {
			return n, failed
		}
	}
	return n, err
}
