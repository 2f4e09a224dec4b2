package main

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync/atomic"
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
	frames bufio.SplitFunc // of the events of a streaming list; nil for a list
	pages  bool            // in Protobuf, until there is no continue token
	// objects are those that a streaming list or all pages have, with at most so many updates meanwhile.
	objects, updates int
	unpack           bool // decompress a list, as clients do that decode; streaming lists always are
}

// answer is what a query was answered.
type answer struct {
	coding   string
	bytes    int64 // of the body as sent
	requests int
}

// ask sends a query and reads the whole response.
func (q query) ask(ctx context.Context, raw *harness.RawClient) answer {
	ctx, cancel := context.WithTimeout(ctx, responseLimit)
	defer cancel()
	switch {
	case q.pages:
		return q.askPages(ctx, raw)
	case q.frames != nil:
		return q.fetch(ctx, raw, q.path, true, func(body io.Reader) {
			check(readInitialEvents(framesOf(body, q.frames), q.objects, q.updates))
		})
	}
	return q.fetch(ctx, raw, q.path, q.unpack, drain)
}

// fetch sends one request and reads its body, decompressed or as sent.
func (q query) fetch(ctx context.Context, raw *harness.RawClient, path string, unpack bool, read func(io.Reader)) answer {
	body := open(ctx, raw, path, q.header)
	defer body.Close()
	if unpack {
		read(body.unpacked())
	} else {
		read(body)
	}
	return answer{body.coding, body.bytes.Load(), 1}
}

// askPages follows continue tokens. A list of another length is an error.
func (q query) askPages(ctx context.Context, raw *harness.RawClient) (all answer) {
	n, page := 0, metav1.List{}
	for all.requests == 0 || page.Continue != "" {
		path := q.path + "&continue=" + url.QueryEscape(page.Continue)
		a := q.fetch(ctx, raw, path, true, func(body io.Reader) { page = decodePage(body) })
		all = answer{a.coding, all.bytes + a.bytes, all.requests + 1}
		n += len(page.Items)
	}
	if n != q.objects {
		check(fmt.Errorf("%d objects in %d pages instead of %d", n, all.requests, q.objects))
	}
	return all
}

// decodePage decodes the metadata of a Protobuf list and of its items: metav1.List has the field
// numbers of all lists, and takes the first field of an item as its content.
func decodePage(body io.Reader) (page metav1.List) {
	text := must(io.ReadAll(body))
	envelope, found := bytes.CutPrefix(text, []byte("k8s\x00"))
	if !found {
		check(errors.New("page is not Protobuf"))
	}
	var unknown runtime.Unknown
	check(unknown.Unmarshal(envelope))
	check(page.Unmarshal(unknown.Raw))
	return page
}

// drain reads to the end with a larger buffer than io.Discard has.
func drain(r io.Reader) {
	_, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{r}, make([]byte, 64<<10))
	check(err)
}

// countedBody is the body of a response with code 200. It counts what is read of it.
type countedBody struct {
	io.ReadCloser
	coding string
	bytes  atomic.Int64
}

// open sends a request and returns the body of the response.
func open(ctx context.Context, raw *harness.RawClient, path string, header http.Header) *countedBody {
	resp := must(raw.Open(ctx, harness.Request{Path: path, Header: header}))
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		check(errors.New(resp.Status))
	}
	return &countedBody{ReadCloser: resp.Body, coding: cmp.Or(resp.Header.Get("Content-Encoding"), identity)}
}

// unpacked returns the decompressed body, by the package that net/http decompresses with.
func (b *countedBody) unpacked() io.Reader {
	switch b.coding {
	case identity:
		return b
	case "gzip":
		return must(gzip.NewReader(b))
	}
	panic(failure{fmt.Errorf("content coding %q", b.coding)})
}

// Read implements io.Reader.
func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.bytes.Add(int64(n))
	return n, err
}

// identity is the content coding of a response without Content-Encoding.
const identity = "identity"
