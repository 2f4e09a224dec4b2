package list

import (
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sluice/proxy/flowcontrol"
	"sluice/proxy/response"
	"sluice/proxy/serve/encode"
	"sluice/proxy/serve/fresh"
	"sluice/proxy/serve/plan"
)

// Get answers a get of any version, or of one that is not older than a version (wire.md 6), or
// returns why it passes.
func (s *Server) Get(w http.ResponseWriter, r *http.Request, p *plan.Plan, a *fresh.Attempt) error {
	reason, err := a.EnsureFresh(r.Context(), p, true)
	if err != nil {
		return err
	}
	state := p.Resource.Store.Snapshot()
	o := state.Get(p.Key())
	if o == nil {
		a.Head(w.Header(), p, reason, state.Version)
		response.Error(w, r, apierrors.NewNotFound(p.Resource.Resource.GroupResource(), p.Read.Name))
		return nil
	}
	longest := encode.Longest(len(o.Data))
	long := longest > flowcontrol.ShortWork
	var work *flowcontrol.Work // a short text waits for nothing
	if long {
		work = s.CPU.Work(r.Context(), p.Info.Waits(), longest)
		defer work.Rest()
		if err := work.Next(); err != nil {
			return err
		}
	}
	out := newResponseWriter(w, r, work, encode.Growth*int64(len(o.Data)), func(h http.Header) { a.Head(h, p, reason, state.Version) })
	defer out.release()
	out.track(p.Info)
	if err = out.reserve(); err == nil && long {
		err = out.claim(longest)
	}
	if err == nil {
		out.buf, err = p.Format.AppendObject(out.buf, o.Data)
	}
	if err == nil {
		err = out.count()
	}
	if err == nil {
		_, err = out.finish()
	}
	return out.outcome(p, err)
}
