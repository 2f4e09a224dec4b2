package serve

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"

	"sluice/proxy/response"
)

// etagBytes is the length of the hash in an entity tag, enough to exclude equal tags by chance.
const etagBytes = 16

// etag returns the strong entity tag of a response (RFC 9110, section 8.8.3), or none if the feature
// is off or the bytes depend on the time. The bytes follow from the store, the version of the list or
// object, the selection, and the format.
func (h *Handler) etag(r *http.Request, p *plan, version uint64) string {
	f := p.encoder.Format()
	if !h.options.Features.ETags || f.AgesWithTime() {
		return ""
	}
	o := &p.options
	hash := sha256.New()
	fmt.Fprintf(hash, "%s %d %d %+v %v %q", p.resource.ID, version, p.verb, f, response.Accepted(r.Header),
		[]string{p.read.Namespace, p.read.Name, o.LabelSelector, o.FieldSelector, o.ShardSelector, o.Continue})
	fmt.Fprint(hash, " ", o.Limit)
	return `"` + base64.RawURLEncoding.EncodeToString(hash.Sum(nil)[:etagBytes]) + `"`
}

// setETag sets the headers of a response with an entity tag, 200 or 304.
func setETag(h http.Header, etag string) {
	if etag != "" {
		h.Set("ETag", etag)
		h.Set("Vary", "Accept, Accept-Encoding")
	}
}

// notModified answers 304 if the client has the response with this tag already (RFC 9110, sections
// 13.1.2 and 15.4.5).
func (p *plan) notModified(w http.ResponseWriter, r *http.Request, reason hitReason, etag string) bool {
	if etag == "" || !matchesETag(r.Header["If-None-Match"], etag) {
		return false
	}
	p.writeHeaders(w.Header(), reason, etag)
	w.Header().Del("Content-Type")
	w.WriteHeader(http.StatusNotModified)
	return true
}

// matchesETag reports whether the values of If-None-Match contain the tag or are *. The comparison
// is weak: the prefix W/ does not count. Malformed values match nothing.
func matchesETag(values []string, etag string) bool {
	if len(values) == 1 && strings.TrimSpace(values[0]) == "*" {
		return true
	}
	for _, rest := range values {
		for rest != "" {
			rest = strings.TrimLeft(rest, " \t,")
			opaque, ok := strings.CutPrefix(strings.TrimPrefix(rest, "W/"), `"`)
			end := strings.IndexByte(opaque, '"')
			if !ok || end < 0 {
				break
			}
			if opaque[:end] == etag[1:len(etag)-1] {
				return true
			}
			rest = opaque[end+1:]
		}
	}
	return false
}
