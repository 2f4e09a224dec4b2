package proxy

import (
	"net/http"

	"sluice/proxy/request"
)

// isRefusal reports whether a finished request was refused: by Sluice or, if Sluice does not know the
// caller, by the apiserver.
func isRefusal(info *request.Info, code int) bool {
	if info.Outcome.Source == request.SourceGateway {
		return code >= http.StatusBadRequest
	}
	unwanted := code == http.StatusUnauthorized || code == http.StatusForbidden || code == http.StatusTooManyRequests
	return info.Caller == request.Unauthenticated && unwanted
}
