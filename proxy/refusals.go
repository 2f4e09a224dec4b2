package proxy

import (
	"net/http"
	"strconv"
	"strings"

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

// refusal is the key under which a refused request without a line is counted.
func refusal(info *request.Info, code int) string {
	return strings.TrimSpace(strconv.Itoa(code) + " " + info.Outcome.Reason)
}
