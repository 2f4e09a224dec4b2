package priority

import (
	"net/http"

	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"

	"sluice/proxy/request"
)

// caller is the user by whom a request is classified, and the account that it counts for. The library
// hands the user that it gets on to level.StartRequest.
type caller struct {
	user.Info
	account account
}

// account is whose share of a level a request takes. The members of a tenant share what it gets.
type account struct {
	tenant string // a user, "system:serviceaccount:NAMESPACE", or empty for all unauthenticated callers
	member string // a user, or the address of an unauthenticated caller
}

var anonymous = &user.DefaultInfo{Name: user.Anonymous, Groups: []string{user.AllUnauthenticated}}

func callerOf(r *http.Request) caller {
	info := request.From(r.Context())
	if info.Caller == request.Unauthenticated || info.Acting == nil {
		return caller{anonymous, account{member: request.AddressKey(r.RemoteAddr)}}
	}
	c := caller{info.Acting, accountOf(info.Acting.GetName())}
	if info.Impersonated != nil {
		c.Info = info.Impersonated
	}
	return c
}

func accountOf(name string) account {
	if namespace, _, err := serviceaccount.SplitUsername(name); err == nil {
		return account{serviceaccount.ServiceAccountUsernamePrefix + namespace, name}
	}
	return account{name, name}
}
