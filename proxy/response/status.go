package response

import (
	"net/http"
	"strconv"

	"sluice/codec"
	"sluice/proxy/request"
)

// Headers sets those headers that the apiserver sends with every response.
func Headers(h http.Header, info *request.Info) {
	h.Set("Audit-Id", info.AuditID)
	h.Set("Cache-Control", "no-cache, private")
}

// ClearHeaders takes back what Headers set, for an answer that has its own.
func ClearHeaders(h http.Header) {
	h.Del("Audit-Id")
	h.Del("Cache-Control")
}

// Client returns what the request says about the formats it takes.
func Client(r *http.Request, info *request.Info) codec.Client {
	return codec.Client{
		Accept:        r.Header.Get("Accept"),
		Pretty:        info.Query.Get("pretty"),
		UserAgent:     r.UserAgent(),
		IncludeObject: info.Query.Get("includeObject"),
	}
}

// ErrorFormat returns the format of an error with that code: 401 and 403 are the
// apiserver's front door's, which has no CBOR.
func ErrorFormat(c codec.Client, code int) codec.Format {
	return codec.ErrorFormat(c, code != http.StatusUnauthorized && code != http.StatusForbidden)
}

// Status answers with an error. Nothing may have been written before.
func Status(w http.ResponseWriter, r *http.Request, s *codec.Status) {
	info := request.From(r.Context())
	format := ErrorFormat(Client(r, info), s.Code)
	h := w.Header()
	Headers(h, info)
	h.Set("Content-Type", format.ContentType(false))
	if seconds := s.RetryAfter(); seconds > 0 {
		h.Set("Retry-After", strconv.Itoa(seconds))
	}
	w.WriteHeader(s.Code)
	// An error here means that the client is gone, and nobody is left to tell.
	_, _ = w.Write(s.Append(nil, format))
}
