package serve

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"

	"sluice/proxy/response"
)

// tag returns the entity tag of what is to be answered: a strong one, for bytes
// that nothing else has (RFC 9110, section 8.8.3). They follow from the store,
// the version that they show - of the list or of the object -, what was selected
// of it, and how it is written. What tells ages has none, being new all the time.
func (s *Handler) tag(r *http.Request, p *plan, version uint64) string {
	f := p.encoder.Format()
	if !s.options.Features.ETags || f.AgesWithTime() {
		return ""
	}
	o := &p.options
	h := sha256.New()
	fmt.Fprintf(h, "%s %d %d %+v %v %q", p.collection.ID, version, p.verb, f, response.Accepted(r.Header),
		[]string{p.namespace, p.info.Name, o.LabelSelector, o.FieldSelector, o.ShardSelector, o.Continue})
	fmt.Fprint(h, " ", o.Limit)
	return `"` + base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:tagBytes]) + `"`
}

// tagBytes is enough for no two tags ever to be equal by chance.
const tagBytes = 16

// setTag sets the headers of an answer with a tag, 200 or 304. Those that are
// equal but for what the client accepts differ in their tags.
func setTag(h http.Header, tag string) {
	if tag != "" {
		h.Set("ETag", tag)
		h.Set("Vary", "Accept, Accept-Encoding")
	}
}

// unchanged answers 304 if the client has what it would be sent (RFC 9110,
// sections 13.1.2 and 15.4.5). It comes where the answer would begin, when all
// else has been decided.
func (p *plan) unchanged(w http.ResponseWriter, r *http.Request, how string) bool {
	if p.tag == "" || !holds(r.Header["If-None-Match"], p.tag) {
		return false
	}
	p.begin(w.Header(), how)
	w.Header().Del("Content-Type")
	w.WriteHeader(http.StatusNotModified)
	return true
}

// holds reports whether the values of If-None-Match name the tag, or any. Tags
// are compared weakly: whether they are marked as weak does not count. What
// cannot be read names nothing.
func holds(values []string, tag string) bool {
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
			if opaque[:end] == tag[1:len(tag)-1] {
				return true
			}
			rest = opaque[end+1:]
		}
	}
	return false
}
