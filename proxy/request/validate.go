package request

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sluice/proxy/message"
)

// maxQueryParameters is the number of query parameters above which net/url parses none at all: an
// end that is built with another limit would see parameters that this one does not (GO-2026-4976).
const maxQueryParameters = 10000

// Validate returns a 400 for a request that another server could understand differently: the
// apiserver, or a proxy on the way to Sluice or from it. It must be called before the request is
// authenticated. info is that of Parse. isIdentity reports whether a header, in any case, names the
// user of a request.
func Validate(r *http.Request, info *Parsed, isIdentity func(name string) bool) error {
	for _, check := range []func() error{
		func() error { return validateTarget(r, info) },
		func() error { return validateQuery(r.URL.RawQuery, info) },
		func() error { return validateConnection(r.Header, isIdentity) },
		func() error { return validateSingle(r.Header) },
		func() error { return validateUpgrade(r) },
	} {
		if err := check(); err != nil {
			return apierrors.NewBadRequest(message.Ambiguous.Say(err))
		}
	}
	return nil
}

// validateTarget rejects a target that is not a path, and a path that is another one when it is
// cleaned: with dot segments or encoded slashes. The rest behind the subresource proxy is the path of
// another server, which passes as it is.
func validateTarget(r *http.Request, info *Parsed) error {
	if r.Method == http.MethodConnect || r.URL.Opaque != "" || r.URL.Path != "" && r.URL.Path[0] != '/' {
		return fmt.Errorf("the target of the request is not a path")
	}
	decoded, raw := segments(r.URL.Path), segments(r.URL.EscapedPath())
	end := len(decoded)
	if info.Subresource == "proxy" {
		end = max(0, end-len(info.Parts)+3) // of the parts, three are resource, name and "proxy"
	}
	for i, segment := range decoded[:end] {
		if segment == "." || segment == ".." {
			return fmt.Errorf("the path has a segment %q", segment)
		}
		if i < len(raw) {
			if same, err := url.PathUnescape(raw[i]); err != nil || same != segment {
				return fmt.Errorf("the path has an encoded slash")
			}
		}
	}
	return nil
}

func segments(path string) []string { return strings.Split(strings.Trim(path, "/"), "/") }

// selectors are the parameters that restrict a request to some of the objects. An end that misses
// one, or reads the other of two, would list, watch or delete objects that the client did not mean.
var selectors = []string{"labelSelector", "fieldSelector", "shardSelector"}

// validateQuery rejects repeated and malformed selectors. Other repeated parameters mean the first,
// and other malformed pairs are dropped, as at the apiserver.
func validateQuery(query string, info *Parsed) error {
	if strings.Count(query, "&") >= maxQueryParameters {
		return fmt.Errorf("the query has more than %d parameters", maxQueryParameters)
	}
	if !info.IsResourceRequest || info.Subresource == "proxy" {
		return nil
	}
	for _, name := range selectors {
		if len(info.Query[name]) > 1 {
			return fmt.Errorf("the query has %s more than once", name)
		}
	}
	if !strings.ContainsAny(query, ";%") {
		return nil
	}
	for pair := range strings.SplitSeq(query, "&") {
		if !malformed(pair) {
			continue
		}
		for _, name := range selectors {
			if strings.Contains(pair, name) {
				return fmt.Errorf("the query has a malformed %s", name)
			}
		}
	}
	return nil
}

// malformed reports whether url.ParseQuery drops a pair: for a semicolon, or a percent sign without two
// hexadecimal digits.
func malformed(pair string) bool {
	_, err := url.QueryUnescape(pair)
	return err != nil || strings.Contains(pair, ";")
}

// endToEnd are headers that every server on the way must see. A proxy removes the headers that
// Connection names, so that the server behind it would see another request: with other credentials
// (CVE-2021-31999, CVE-2022-23652), another body, or another origin in the audit log.
var endToEnd = map[string]bool{
	"accept": true, "accept-encoding": true, "audit-id": true, "authorization": true, "content-encoding": true,
	"content-length": true, "content-type": true, "cookie": true, "expect": true, "forwarded": true, "host": true,
	"if-none-match": true, "if-match": true, "user-agent": true, "x-real-ip": true, "x-stream-protocol-version": true,
}

// endToEndPrefixes are the prefixes of more of them. Sec-Websocket-Protocol can hold a token.
var endToEndPrefixes = []string{"impersonate-", "x-remote-", "x-forwarded-", "sec-websocket-"}

func validateConnection(h http.Header, isIdentity func(string) bool) error {
	for _, line := range h["Connection"] {
		for option := range strings.SplitSeq(line, ",") {
			option = strings.ToLower(strings.TrimSpace(option))
			prefixes := func(p string) bool { return strings.HasPrefix(option, p) }
			if endToEnd[option] || slices.ContainsFunc(endToEndPrefixes, prefixes) || isIdentity(option) {
				return fmt.Errorf("the header Connection names %.64q, which must pass to the apiserver", option)
			}
		}
	}
	return nil
}

// validateSingle rejects repeated headers of which the ends might take different ones: credentials,
// the user to impersonate, and the format of the body.
func validateSingle(h http.Header) error {
	for _, name := range []string{"Authorization", "Impersonate-User", "Impersonate-Uid", "Content-Type"} {
		if len(h[name]) > 1 {
			return fmt.Errorf("the request has the header %s more than once", name)
		}
	}
	return nil
}

// validateUpgrade rejects protocols that no server of the Kubernetes API switches to, such as h2c,
// in which requests would pass without authentication and authorization by either end, and upgrades with a
// body, which one end could read as the first bytes of the new protocol.
func validateUpgrade(r *http.Request) error {
	if !asksToSwitch(r.Header) {
		return nil
	}
	protocols := r.Header["Upgrade"]
	if len(protocols) != 1 || !strings.EqualFold(protocols[0], "SPDY/3.1") && !strings.EqualFold(protocols[0], "websocket") {
		return fmt.Errorf("the protocol to upgrade to must be SPDY/3.1 or websocket")
	}
	if r.ContentLength != 0 {
		return fmt.Errorf("a request to upgrade must have no body")
	}
	return nil
}
