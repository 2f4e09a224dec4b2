package request

// maxLogged is the length of a text of a client in a log line, in bytes.
const maxLogged = 256

// Shorten returns a text of a client for a log line: cut at 256 bytes, with the mark "...". A request
// may have a megabyte of headers, which must not become a megabyte of log.
func Shorten(s string) string {
	if len(s) <= maxLogged {
		return s
	}
	return s[:maxLogged] + "..."
}
