package forward

import (
	"context"
	"errors"
	"net/http"

	"go.uber.org/zap"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sluice/proxy/forward/transcode"
	"sluice/proxy/limits"
	"sluice/proxy/message"
	"sluice/proxy/request"
	"sluice/proxy/response"
)

// Values of Outcome.Reason for requests that failed on the way to or from the upstream.
const (
	reasonClientGone          = "client-gone"
	reasonClientStalled       = "client-stalled"
	reasonResponseCut         = "response-cut"
	reasonUpstreamUnreachable = "upstream-unreachable"
)

// errClientGone is returned when the client does not send its request to the end.
var errClientGone = errors.New("the client is gone")

// errNamesUnknown refuses callers while the apiserver's names of front-proxy headers are unknown.
var errNamesUnknown = response.NewUnavailable(message.NamesUnknown.Say())

// fail responds to a request for which there is no response of the upstream that can be passed.
func (f *Forwarder) fail(w http.ResponseWriter, r *http.Request, err error) {
	info := request.From(r.Context())
	if cause := bodyError(r); cause != nil {
		err = cause // whatever the transport or the transcoder made of it
		if r.ProtoMajor == 1 {
			w.Header().Set("Connection", "close")
		}
	}
	var status apierrors.APIStatus
	switch {
	case errors.Is(err, context.Canceled) && r.Context().Err() != nil, errors.Is(err, errClientGone):
		info.Outcome.Reason = reasonClientGone
		panic(http.ErrAbortHandler)
	case errors.Is(err, transcode.ErrResponseCut):
		info.Outcome.Reason = reasonResponseCut
		f.log.Warn("upstream response was cut", zap.String("path", request.Shorten(info.Path)), zap.Error(err))
		panic(http.ErrAbortHandler) // as ReverseProxy does when it copies the body
	case errors.As(err, &status):
		info.Outcome.Source = request.SourceGateway
		if _, ok := errors.AsType[*limits.Refused](err); ok {
			info.Outcome.Reason = limits.TooMuch
		}
		response.Error(w, r, err)
		return
	}
	info.Outcome.Reason, info.Outcome.Unanswered = reasonUpstreamUnreachable, true
	f.log.Warn("upstream request failed", zap.String("path", request.Shorten(info.Path)), zap.Error(err))
	response.Error(w, r, response.NewUnavailable(message.Unreachable.Say()))
}
