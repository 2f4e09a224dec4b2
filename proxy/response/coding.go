package response

import (
	"net/http"
	"strconv"
	"strings"

	"sluice/codec/splice"
)

// CompressFrom is the length in bytes beyond which bodies are compressed for
// those who take it: the apiserver's (wire.md 8).
const CompressFrom = 128 << 10

// Accepted returns the coding for a long answer. gzip is read as the apiserver
// reads it: a token of that name and nothing else. zstd, which the apiserver
// does not have, is read as RFC 9110, section 12.5.3 says, and preferred unless
// its weight is below that of gzip, which is 1.
func Accepted(h http.Header) splice.Coding {
	gzip, zstd := false, 0.0
	for token := range strings.SplitSeq(h.Get("Accept-Encoding"), ",") {
		token = strings.Trim(token, " ")
		gzip = gzip || token == "gzip"
		name, weight, weighed := strings.Cut(token, ";")
		if strings.EqualFold(strings.TrimSpace(name), "zstd") {
			zstd = quality(weight, weighed)
		}
	}
	switch {
	case zstd >= 1, zstd > 0 && !gzip:
		return splice.Zstd
	case gzip:
		return splice.Gzip
	}
	return splice.Identity
}

// quality reads a weight such as q=0.5; one that cannot be read is 0.
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

// SetCoding sets the headers of an answer in that coding.
func SetCoding(h http.Header, c splice.Coding) {
	if c == splice.Identity {
		return
	}
	h.Set("Content-Encoding", c.String())
	if h.Get("Vary") == "" { // else it is among what that names
		h.Set("Vary", "Accept-Encoding")
	}
}
