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

// comparedHeaders are compared; others depend on the time or the server. The apiserver's priority
// levels (X-Kubernetes-Pf-*) are not: requests served from the cache have none.
var comparedHeaders = []string{
	"Content-Type", "Content-Length", "Content-Encoding", "Cache-Control", "Vary", "Warning", "Retry-After",
	"X-Content-Type-Options", "Allow", "Etag", "Last-Modified", "Accept-Ranges", "Www-Authenticate",
	"Access-Control-Allow-Origin", "Access-Control-Allow-Methods", "Access-Control-Allow-Headers",
	"Access-Control-Expose-Headers", "Access-Control-Allow-Credentials", "Upgrade", "Location", "Connection", "Sec-Websocket-Accept", "Sec-Websocket-Protocol",
}

// comparison is the part of a response that must be equal.
type comparison struct {
	Status  int
	Proto   string
	Header  map[string]string
	AuditID string // of the request, or "random"
	Body    string
}

var uuid = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// reduceBoth reduces the responses to a row. Equal bodies are not normalized.
func reduceBoth(row *Row, want, got *harness.Response) (w, g comparison) {
	w, g = reduce(want), reduce(got)
	if row.Coding != "" {
		delete(w.Header, "Content-Length")
		w.Header["Content-Encoding"], w.Header["Vary"] = row.Coding, "Accept-Encoding"
	}
	if row.Loose || bytes.Equal(want.Body, got.Body) {
		return w, g
	}
	w.Body, g.Body = string(normalize(want.Body, want.Header, row.Exact)), string(normalize(got.Body, got.Header, row.Exact))
	if row.Method != "" {
		w.Body, g.Body = normalizeCreated(w.Body), normalizeCreated(g.Body)
	}
	return w, g
}

func reduce(a *harness.Response) comparison {
	decompress(a)
	c := comparison{Status: a.Status, Proto: a.Proto, Header: map[string]string{}, AuditID: a.Header.Get("Audit-Id")}
	if uuid.MatchString(c.AuditID) {
		c.AuditID = "random"
	}
	for _, name := range comparedHeaders {
		if v := a.Header.Values(name); len(v) > 0 {
			c.Header[name] = strings.Join(v, " | ")
		}
	}
	// Ages and versions may grow by a digit between the two responses.
	if c.Header["Content-Length"] == strconv.Itoa(len(a.Body)) {
		c.Header["Content-Length"] = "length of the body"
	}
	if c.Header["Last-Modified"] != "" {
		c.Header["Last-Modified"] = "some time"
	}
	return c
}

// decompress decompresses the body, since two compressors need not write the same bytes. A
// malformed body stays as it is, and so differs.
func decompress(a *harness.Response) {
	in, err := decompressor(a.Header.Get("Content-Encoding"), bytes.NewReader(a.Body))
	if err != nil {
		return
	}
	if plain, err := io.ReadAll(in); err == nil && a.Header.Get("Content-Encoding") != "" {
		a.Body = plain
		a.Header.Del("Content-Length")
	}
}

// decompressor returns a reader of the decompressed body. Sluice uses other implementations.
func decompressor(coding string, body io.Reader) (io.Reader, error) {
	switch coding {
	case "gzip":
		return gzip.NewReader(body)
	case "zstd":
		return gozstd.NewReader(body), nil
	}
	return body, nil
}
