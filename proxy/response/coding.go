package response

import (
	"net/http"
	"strconv"
	"strings"

	"sluice/codec/splice"
)

// CompressFrom is the size in bytes above which the bodies of clients that accept a coding are compressed,
// as at the apiserver (wire.md 8).
const CompressFrom = 128 << 10

// Accepted returns the content coding of a long body. gzip is accepted by a token of exactly that name, as at the
// apiserver. zstd, which the apiserver does not have, follows RFC 9110, section 12.5.3: it is preferred unless gzip or
// identity has a greater weight.
func Accepted(h http.Header) splice.Coding {
	gzip, zstd, other := false, 0.0, 0.0
	for token := range strings.SplitSeq(h.Get("Accept-Encoding"), ",") {
		token = strings.TrimSpace(token)
		gzip = gzip || token == "gzip"
		name, weight, weighed := strings.Cut(token, ";")
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "zstd":
			zstd = quality(weight, weighed)
		case "gzip", "identity":
			other = max(other, quality(weight, weighed))
		}
	}
	switch {
	case zstd > 0 && zstd >= other:
		return splice.Zstd
	case gzip:
		return splice.Gzip
	}
	return splice.Identity
}

// quality parses a weight such as q=0.5. A malformed weight is 0.
func quality(weight string, given bool) float64 {
	if !given {
		return 1
	}
	name, value, _ := strings.Cut(strings.TrimSpace(weight), "=")
	q, err := strconv.ParseFloat(value, 64)
	if err != nil || !strings.EqualFold(name, "q") {
		return 0
	}
	return q
}

// SetCoding sets the headers of a response in a coding.
func SetCoding(h http.Header, c splice.Coding) {
	if c == splice.Identity {
		return
	}
	h.Set("Content-Encoding", c.String())
	if h.Get("Vary") == "" { // a Vary that is already set names Accept-Encoding too
		h.Set("Vary", "Accept-Encoding")
	}
}
