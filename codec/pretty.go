package codec

import (
	"strconv"
	"strings"
)

// wantsPretty says whether a client that did not say so in Accept gets indented JSON: by the query parameter if it has a
// value, else by being a browser or a command line tool (wire.md 9).
func wantsPretty(query, userAgent string) bool {
	if query != "" {
		on, _ := strconv.ParseBool(query)
		return on
	}
	for _, p := range [...]string{"curl", "Wget", "Mozilla/5.0"} {
		if strings.HasPrefix(userAgent, p) {
			return true
		}
	}
	return false
}
