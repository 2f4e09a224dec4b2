package priority

import (
	"net/http"

	"k8s.io/apiserver/pkg/authentication/user"

	"sluice/proxy/accounts"
	"sluice/proxy/request"
)

// caller is the user by whom a request is classified, and the account whose share of a level it takes. The
// library hands the user that it gets on to level.StartRequest.
type caller struct {
	user.Info
	account accounts.Key
}

func callerOf(r *http.Request) caller {
	info := request.From(r.Context())
	if info.Impersonated != nil {
		return caller{info.Impersonated, info.Account.Key}
	}
	return caller{info.Acting, info.Account.Key}
}
