package negotiate

import (
	"strconv"
	"strings"
)

// wantsPretty reports whether the client wants indented JSON: by the matched media type, else by the
// query parameter if it has a value, else because it is a browser or a command line tool (wire.md 9).
func (r Request) wantsPretty(m match) bool {
	if m.pretty {
		return true
	}
	if r.Pretty != "" {
		on, _ := strconv.ParseBool(r.Pretty)
		return on
	}
	for _, prefix := range [...]string{"curl", "Wget", "Mozilla/5.0"} {
		if strings.HasPrefix(r.UserAgent, prefix) {
			return true
		}
	}
	return false
}
