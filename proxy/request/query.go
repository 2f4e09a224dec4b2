package request

import (
	"net/url"
	"strings"
)

// CanonicalQuery returns a query as it was parsed, encoded anew: without malformed pairs, in the same
// order. The apiserver, and any proxy in front of it, then sees exactly the parameters that Sluice has
// seen, although they may parse queries differently (CVE-2022-2880).
func CanonicalQuery(query string) string {
	var b strings.Builder
	b.Grow(len(query))
	for pair := range strings.SplitSeq(query, "&") {
		if pair == "" || strings.Contains(pair, ";") {
			continue
		}
		name, value, hasValue := strings.Cut(pair, "=")
		name, nameErr := url.QueryUnescape(name)
		value, valueErr := url.QueryUnescape(value)
		if nameErr != nil || valueErr != nil {
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
