package serve

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"k8s.io/apiserver/pkg/storage"

	"sluice/codec/negotiate"
	"sluice/proxy/message"
	"sluice/proxy/request"
	"sluice/proxy/resources"
	"sluice/proxy/response"
	"sluice/proxy/serve/outcome"
	"sluice/proxy/serve/plan"
)

// passedWatchLife is the shortest life of a watch that passes for a reason that will not last: long
// enough for a bookmark, from which the client can resume here.
const passedWatchLife = 75 * time.Second

// upstreamRequest returns the request as the apiserver gets it: r, or a changed copy of it.
//
// Unless Strict, a client may accept media types of Sluice alone.
func (h *Handler) upstreamRequest(r *http.Request, info *request.Info, reason outcome.Pass) *http.Request {
	if verb, reads := negotiate.ParseVerb(info.Verb); reads && info.Subresource == "" && !h.options.Strict {
		accept := r.Header.Get("Accept")
		if upstream := negotiate.UpstreamAccept(accept, verb); upstream != accept {
			r = r.Clone(r.Context())
			r.Header["Accept"][0] = upstream
		}
	}
	if info.Verb == "watch" && reason.Temporary() {
		return shortenWatch(r, info)
	}
	return r
}

// shortenWatch returns a copy of r with a timeout of one to three minutes. A server may end a watch
// at any time; the client then resumes from a newer version, which the history covers. Otherwise
// every client that was connected before this process started or a store was rebuilt would keep a
// watch of its own on the apiserver for half an hour and longer.
func shortenWatch(r *http.Request, info *request.Info) *http.Request {
	life := passedWatchLife + rand.N(passedWatchLife)
	o, err := request.ParseListOptions(info.Query)
	if err != nil || (o.Timeout > 0 && o.Timeout <= life) {
		return r
	}
	r = r.Clone(r.Context())
	query := r.URL.Query()
	query.Set("timeoutSeconds", strconv.Itoa(int(life.Seconds())))
	r.URL.RawQuery = query.Encode()
	return r
}

// refuseSome decides about a read of some namespaces that the cache cannot show for the reason: at the apiserver it would get a 403.
// It waits for a store that is being filled or stalls, and returns errAgain, or tells the client to list again, or later. A read that
// the cache never shows passes.
func (h *Handler) refuseSome(ctx context.Context, p *plan.Plan, q *attempt, reason outcome.Pass) error {
	switch reason {
	case outcome.VersionBeforeHistory:
		return tooOld(reason)
	case outcome.VersionNotReached:
		return &outcome.Refused{Reason: reason,
			Err: storage.NewTooLargeResourceVersionError(p.Version, p.Resource.Store.Snapshot().Version, response.RetryAfter)}
	case resources.NotInSync, outcome.NotProvenInTime:
		if !q.waited && !q.Away {
			q.waited = true
			ctx, cancel := context.WithDeadline(ctx, q.deadline())
			defer cancel()
			if h.awaitRecovery(ctx, p, q, reason) {
				return errAgain
			}
		}
	case resources.NotRunning, resources.StoresTooLarge:
	default:
		return reason
	}
	return &outcome.Refused{Reason: reason, Err: response.NewUnavailable(message.NotHereYet.Say(reason))}
}

func tooOld(reason outcome.Pass) error {
	return &outcome.Refused{Reason: reason,
		Err: apierrors.NewResourceExpired("The resourceVersion for the provided list is too old.")}
}

// refuseShard returns the refusal of a sharded read that must not pass for the reason, nil if it may
// pass. A page or watch follows a list of the shard from here, but an apiserver without the
// feature gate would ignore the selector and send the whole resource. The answer tells the client to list
// again, or later. A list may pass: shardInfo in the response says whether it is of the shard.
func refuseShard(p *plan.Plan, reason outcome.Pass) error {
	if !p.OnlyHere() {
		return nil
	}
	follows := p.Verb == negotiate.Watch || p.Options.Continue != ""
	switch {
	case reason == outcome.VersionBeforeHistory:
		return tooOld(reason)
	case follows && (reason == resources.NotInSync || reason == outcome.NotProvenInTime || reason == outcome.VersionNotReached):
		return &outcome.Refused{Reason: reason, Err: apierrors.NewTooManyRequests("storage is (re)initializing", response.RetryAfter)}
	}
	return nil
}
