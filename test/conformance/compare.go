package conformance

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"net/http"
	"regexp"
	"strings"

	"sluice/codec/proto"
	"sluice/test/harness"
)

// headersThatMatter are compared; others name the moment or the server. The
// apiserver's priority levels (X-Kubernetes-Pf-*) are its own business: it is
// not asked when the cache answers.
var headersThatMatter = []string{
	"Content-Type", "Content-Length", "Content-Encoding", "Cache-Control", "Vary", "Warning", "Retry-After",
	"X-Content-Type-Options", "Allow", "Etag", "Last-Modified", "Accept-Ranges", "Www-Authenticate",
	"Upgrade", "Location", "Connection",
}

// comparable is an answer reduced to what must be equal.
type comparable struct {
	Status  int
	Header  map[string]string
	AuditID bool // present
	Body    string
}

func reduce(a *harness.Answer, loose bool) comparable {
	unzip(a)
	c := comparable{Status: a.Status, Header: map[string]string{}, AuditID: a.Header.Get("Audit-Id") != ""}
	for _, name := range headersThatMatter {
		if v := a.Header.Values(name); len(v) > 0 {
			c.Header[name] = strings.Join(v, " | ")
		}
	}
	if !loose {
		c.Body = string(steady(a.Body, a.Header))
	}
	return c
}

// unzip decompresses the body: two compressors need not agree on its bytes,
// nor on its length.
func unzip(a *harness.Answer) {
	if a.Header.Get("Content-Encoding") != "gzip" {
		return
	}
	in, err := gzip.NewReader(bytes.NewReader(a.Body))
	if err != nil {
		return
	}
	if plain, err := io.ReadAll(in); err == nil {
		a.Body = plain
		a.Header.Del("Content-Length")
	}
}

// steady replaces what two servers may rightly tell differently: the versions
// of lists and bookmarks, which rise with writes anywhere in the cluster, and
// the times and names of the moment.
func steady(body []byte, h http.Header) []byte {
	switch contentType := h.Get("Content-Type"); {
	case strings.Contains(contentType, "stream=watch") && strings.Contains(contentType, "protobuf"):
		return steadyFrames(body)
	case strings.Contains(contentType, "protobuf"):
		return steadyList(body)
	}
	for _, r := range unsteady {
		body = r.pattern.ReplaceAll(body, []byte(r.with))
	}
	return body
}

var unsteady = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`("kind":"\w+List","apiVersion":"[\w./]+","metadata":\{"resourceVersion":)"\d+"`), `$1"N"`},
	{regexp.MustCompile(`("kind":"\w+List","metadata":\{"continue":"","resourceVersion":)"\d+"`), `$1"N"`},
	{regexp.MustCompile(`("kind": "\w+List",\s+"apiVersion": "[\w./]+",\s+"metadata": \{\s+"resourceVersion": )"\d+"`), `$1"N"`},
	{regexp.MustCompile(`("kind": "\w+List",\s+"metadata": \{\s+"continue": "",\s+"resourceVersion": )"\d+"`), `$1"N"`},
	{regexp.MustCompile(`(?m)^(  resourceVersion: )"\d+"`), `$1"N"`}, // YAML list metadata
	{regexp.MustCompile(`("type":"BOOKMARK".*"resourceVersion":)"\d+"`), `$1"N"`},
	{regexp.MustCompile(`(Table","apiVersion":"meta.k8s.io/v1(?:beta1)?","metadata":\{"resourceVersion":)"\d+"`), `$1"N"`},
	{regexp.MustCompile(`(current: )\d+`), `${1}N`},
	{regexp.MustCompile(`"(uid|creationTimestamp|time)":"[^"]*"`), `"$1":"T"`},
	{regexp.MustCompile(`"resourceVersion":"\d+","creationTimestamp":"T"`), `"resourceVersion":"N","creationTimestamp":"T"`},
}

// steadyList replaces the version of a Protobuf list.
func steadyList(body []byte) []byte {
	u, err := proto.Unwrap(body)
	if err != nil || !bytes.HasSuffix(u.Kind, []byte("List")) {
		return body
	}
	out := append([]byte(nil), u.APIVersion...)
	out = append(out, u.Kind...)
	meta, err := proto.ParseListMeta(u.Raw)
	if err != nil {
		return body
	}
	out = append(out, meta.Continue...)
	for item, err := range proto.Items(u.Raw) {
		if err != nil {
			return body
		}
		out = proto.AppendItem(out, item)
	}
	return out
}

// steadyFrames replaces the versions of the bookmarks in a Protobuf watch.
func steadyFrames(body []byte) []byte {
	var out []byte
	for len(body) >= 4 {
		size := 4 + int(binary.BigEndian.Uint32(body))
		if size > len(body) {
			return append(out, body...)
		}
		frame := body[:size]
		body = body[size:]
		typ, object, err := proto.ParseFrame(frame[4:])
		if err == nil && string(typ) == "BOOKMARK" {
			if u, err := proto.Unwrap(object); err == nil {
				frame, _ = proto.SetResourceVersion([]byte("BOOKMARK "), u.Raw, "N")
			}
		}
		out = append(out, frame...)
	}
	return append(out, body...)
}
