package serve

import (
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sluice/proxy/response"
	"sluice/proxy/serve/outcome"
)

// get answers a get of any version, or of one that is not older than a version (wire.md 6), or
// returns why it passes.
func (h *Handler) get(w http.ResponseWriter, r *http.Request, p *plan) error {
	reason, err := p.ensureFresh(r.Context(), true)
	if err != nil {
		return err
	}
	o := p.resource.Store.Snapshot().Get(p.key())
	if o == nil {
		p.writeHeaders(w.Header(), reason)
		response.Error(w, r, apierrors.NewNotFound(p.resource.Resource.GroupResource(), p.read.Name))
		return nil
	}
	out := newResponseWriter(w, r, nil, func(h http.Header) { p.writeHeaders(h, reason) })
	defer out.release()
	out.encoded = &p.info.Encoded
	out.reserve()
	if out.buf, err = p.encoder.AppendObject(out.buf, o.Data); err != nil {
		return outcome.UnservedFormat
	}
	return out.finish()
}
