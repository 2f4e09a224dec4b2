package priority

import (
	"net/http"

	"k8s.io/apiserver/pkg/authentication/user"

	"sluice/proxy/request"
)

// caller is the user by whom a request is classified, and the seat that it is to get. The library hands the user that it gets on to level.StartRequest.
type caller struct {
	user.Info
	seat *seat
}

func callerOf(r *http.Request, s *seat) caller {
	info := request.From(r.Context())
	if info.Impersonated != nil {
		return caller{info.Impersonated, s}
	}
	return caller{info.Acting, s}
}
