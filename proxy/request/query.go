package request

import (
	"net/url"
	"strings"
)

// parameters are those that Sluice reads. It keeps no others: a request may have thousands, before it is authenticated.
var parameters = map[string]bool{
	"allowWatchBookmarks": true, "continue": true, "export": true, "fieldSelector": true, "fieldValidation": true, "includeObject": true,
	"labelSelector": true, "limit": true, pretty: true, "resourceVersion": true, "resourceVersionMatch": true, "sendInitialEvents": true,
	"shardSelector": true, "timeout": true, "timeoutSeconds": true, "watch": true,
}

// mostValues is how many values of a parameter are kept: the first counts, a second shows that there are several.
const mostValues = 2

// parseQuery returns the parameters that Sluice reads as url.ParseQuery does, which drops malformed pairs. A query with too
// many parameters, which validation refuses, has none.
func parseQuery(query string) url.Values {
	values := url.Values{}
	if strings.Count(query, "&") >= maxQueryParameters {
		return values
	}
	for pair := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(name)
		if err != nil || !parameters[name] || len(values[name]) >= mostValues || malformed(pair) {
			continue
		}
		value, _ = url.QueryUnescape(value)
		values[name] = append(values[name], value)
	}
	return values
}

// Pretty returns the value of the parameter pretty that counts. The apiserver reads it only if the query
// has the word before it is decoded, so that %70retty=1 has no effect.
func Pretty(raw string, query url.Values) string {
	if !strings.Contains(raw, pretty) {
		return ""
	}
	return query.Get(pretty)
}

const pretty = "pretty"

// CanonicalQuery returns a query as it was parsed, encoded anew: without malformed pairs, in the same
// order. The apiserver, and any proxy in front of it, then sees exactly the parameters that Sluice has
// seen, although they may parse queries differently (CVE-2022-2880). A parameter pretty that has no effect
// is left out, since it would have one once it is encoded anew, unless the query is for a server behind
// the subresource proxy.
func CanonicalQuery(query string, proxied bool) string {
	withoutEffect := ""
	if !proxied && !strings.Contains(query, pretty) {
		withoutEffect = pretty
	}
	var b strings.Builder
	b.Grow(len(query))
	for pair := range strings.SplitSeq(query, "&") {
		if pair == "" || strings.Contains(pair, ";") {
			continue
		}
		name, value, hasValue := strings.Cut(pair, "=")
		name, nameErr := url.QueryUnescape(name)
		value, valueErr := url.QueryUnescape(value)
		if nameErr != nil || valueErr != nil || name != "" && name == withoutEffect {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('&')
		}
		b.WriteString(url.QueryEscape(name))
		if hasValue {
			b.WriteByte('=')
			b.WriteString(url.QueryEscape(value))
		}
	}
	return b.String()
}
