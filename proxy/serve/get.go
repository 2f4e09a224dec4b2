package serve

import (
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sluice/cache"
	"sluice/proxy/response"
)

// get answers the get of an object in any state, or in one not older than a
// version, or returns why it cannot (wire.md 6).
func (s *Handler) get(w http.ResponseWriter, r *http.Request, p *plan) string {
	how := servedAny
	if store := p.collection.Store; p.version > store.Snapshot().Version {
		p.selection.keys = cache.Single(cache.KeyOf(p.namespace, p.info.Name))
		var reason string
		if how, reason = p.freshen(r.Context(), p.version, true); reason != "" {
			return reason
		}
	}
	o := p.collection.Store.Snapshot().Get(cache.KeyOf(p.namespace, p.info.Name))
	if o == nil {
		p.begin(w.Header(), how)
		response.Error(w, r, apierrors.NewNotFound(p.collection.Resource.GroupResource(), p.info.Name))
		return ""
	}
	if p.tag = s.tag(r, p, o.RV); p.unchanged(w, r, how) {
		return ""
	}
	out := newBody(w, r)
	defer out.release()
	out.room()
	var err error
	if out.buf, err = p.encoder.At(time.Now()).AppendObject(out.buf, o.Data); err != nil {
		return reasonFormat
	}
	p.begin(w.Header(), how)
	if err := out.finish(); err != nil {
		panic(http.ErrAbortHandler)
	}
	return ""
}
