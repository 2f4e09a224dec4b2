package list

import (
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sluice/proxy/flowcontrol"
	"sluice/proxy/response"
	"sluice/proxy/serve/body"
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
	head := fresh.Head{Attempt: a, Plan: p, Reason: reason, Version: state.Version}
	o := state.Get(p.Key())
	if o == nil {
		head.Set(w.Header())
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
	out := body.New(w, head, work, response.Accepted(r.Header), encode.Growth*int64(len(o.Data)))
	defer out.Release()
	if err = out.Reserve(); err == nil && long {
		err = out.Claim(longest)
	}
	if err == nil {
		out.Text, err = p.Format.AppendObject(out.Text, o.Data)
	}
	if err == nil {
		err = out.Count()
	}
	if err == nil {
		_, err = out.Finish()
	}
	return out.Outcome(err)
}
