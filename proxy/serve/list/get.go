package list

import (
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sluice/proxy/accounts"
	"sluice/proxy/response"
	"sluice/proxy/serve/encode"
	"sluice/proxy/serve/fresh"
	"sluice/proxy/serve/outcome"
	"sluice/proxy/serve/plan"
)

// Get answers a get of any version, or of one that is not older than a version (wire.md 6), or
// returns why it passes.
func (s *Server) Get(w http.ResponseWriter, r *http.Request, p *plan.Plan, a *fresh.Attempt) error {
	reason, err := a.EnsureFresh(r.Context(), p, true)
	if err != nil {
		return err
	}
	if p.Info.Why != nil {
		fresh.Foreseen(p, reason)
		return nil
	}
	state := p.Resource.Store.Snapshot()
	o := state.Get(p.Key())
	if o == nil {
		a.Head(w.Header(), p, reason, state.Version)
		response.Error(w, r, apierrors.NewNotFound(p.Resource.Resource.GroupResource(), p.Read.Name))
		return nil
	}
	out := newResponseWriter(w, r, nil, func(h http.Header) { a.Head(h, p, reason, state.Version) })
	defer out.release()
	out.encoded = &p.Info.Encoded
	out.reserve()
	if out.buf, err = p.Format.AppendObject(out.buf, o.Data); err != nil {
		return outcome.UnservedFormat
	}
	memory, err := hold(p, len(out.buf))
	if err != nil {
		return err
	}
	defer memory.Release()
	_, err = out.finish()
	return err
}

// hold makes the account of the caller count the text of a long object, which stays until the client has accepted it. The
// error is an outcome.Refused.
func hold(p *plan.Plan, bytes int) (*accounts.Grant, error) {
	if bytes <= encode.PieceSize {
		return nil, nil
	}
	memory, err := p.Info.Account.Take(p.Info.Memory(), int64(bytes))
	if refused, ok := errors.AsType[*accounts.Refused](err); ok {
		return nil, &outcome.Refused{Reason: outcome.Pass(refused.Reason()), Err: refused}
	}
	return memory, nil
}
