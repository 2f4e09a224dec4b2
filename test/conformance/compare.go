package conformance

import (
	"bytes"
	"compress/gzip"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/valyala/gozstd"

	"sluice/test/harness"
)

// headersThatMatter are compared; others name the moment or the server. The
// apiserver's priority levels (X-Kubernetes-Pf-*) are its own business: it is
// not asked when the cache answers.
var headersThatMatter = []string{
	"Content-Type", "Content-Length", "Content-Encoding", "Cache-Control", "Vary", "Warning", "Retry-After",
	"X-Content-Type-Options", "Allow", "Etag", "Last-Modified", "Accept-Ranges", "Www-Authenticate",
	"Upgrade", "Location", "Connection", "Sec-Websocket-Accept", "Sec-Websocket-Protocol",
}

// comparable is an answer reduced to what must be equal.
type comparable struct {
	Status  int
	Proto   string
	Header  map[string]string
	AuditID string // as the request's, or whether there is one
	Body    string
}

var uuid = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// reduceBoth reduces the answers to one row. Bodies that are equal need no more.
func reduceBoth(row *Row, want, got *harness.Response) (w, g comparable) {
	w, g = reduce(want), reduce(got)
	if row.Coding != "" {
		delete(w.Header, "Content-Length")
		w.Header["Content-Encoding"], w.Header["Vary"] = row.Coding, "Accept-Encoding"
	}
	if row.Loose || bytes.Equal(want.Body, got.Body) {
		return w, g
	}
	w.Body, g.Body = string(steady(want.Body, want.Header, row.Exact)), string(steady(got.Body, got.Header, row.Exact))
	if row.Method != "" {
		w.Body, g.Body = steadyNew(w.Body), steadyNew(g.Body)
	}
	return w, g
}

func reduce(a *harness.Response) comparable {
	unpack(a)
	c := comparable{Status: a.Status, Proto: a.Proto, Header: map[string]string{}, AuditID: a.Header.Get("Audit-Id")}
	if uuid.MatchString(c.AuditID) {
		c.AuditID = "random"
	}
	for _, name := range headersThatMatter {
		if v := a.Header.Values(name); len(v) > 0 {
			c.Header[name] = strings.Join(v, " | ")
		}
	}
	// Ages and versions may grow by a digit from one answer to the next.
	if c.Header["Content-Length"] == strconv.Itoa(len(a.Body)) {
		c.Header["Content-Length"] = "that of the body"
	}
	if c.Header["Last-Modified"] != "" {
		c.Header["Last-Modified"] = "once"
	}
	return c
}

// unpack decompresses the body: two compressors need not agree on its bytes,
// nor on its length. What cannot be unpacked stays as it is, and so differs.
func unpack(a *harness.Response) {
	in, err := unpacked(a.Header.Get("Content-Encoding"), bytes.NewReader(a.Body))
	if err != nil {
		return
	}
	if plain, err := io.ReadAll(in); err == nil && a.Header.Get("Content-Encoding") != "" {
		a.Body = plain
		a.Header.Del("Content-Length")
	}
}

// unpacked returns what reads a body as it comes, by readers that have nothing
// in common with Sluice's writers.
func unpacked(coding string, body io.Reader) (io.Reader, error) {
	switch coding {
	case "gzip":
		return gzip.NewReader(body)
	case "zstd":
		return gozstd.NewReader(body), nil
	}
	return body, nil
}
