package reply

import (
	"net/http"
	"strconv"
	"strings"
)

// Coding is a content coding (RFC 9110, section 8.4.1).
type Coding uint8

// The content codings that answers come in.
const (
	Identity Coding = iota
	Gzip
	Zstd
)

// String returns the name in Content-Encoding, or identity.
func (c Coding) String() string { return [...]string{"identity", "gzip", "zstd"}[c] }

// CompressFrom is the length in bytes beyond which bodies are compressed for
// those who take it: the apiserver's (wire.md 8).
const CompressFrom = 128 << 10

// Accepted returns the coding for a long answer. gzip is read as the apiserver
// reads it: a token of that name and nothing else. zstd, which the apiserver
// does not have, is read as RFC 9110, section 12.5.3 says, and preferred unless
// its weight is below that of gzip, which is 1.
func Accepted(h http.Header) Coding {
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
		return Zstd
	case gzip:
		return Gzip
	}
	return Identity
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

// SetHeaders sets the headers of an answer in that coding.
func (c Coding) SetHeaders(h http.Header) {
	if c == Identity {
		return
	}
	h.Set("Content-Encoding", c.String())
	h.Set("Vary", "Accept-Encoding")
}
