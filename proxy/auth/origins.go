package auth

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"time"

	"sluice/proxy/accounts"
	"sluice/proxy/request"
)

// originTTL is how long the answer of the apiserver about an origin is kept. Which origins it allows changes only when it
// is started with other flags.
const originTTL = time.Minute

// maxOrigin is the longest origin that is asked about, in bytes: a scheme, a name of 253 and a port are less. What is kept
// of a longer one could displace many others.
const maxOrigin = 1 << 10

// errOrigin is returned for an origin that is longer than maxOrigin.
var errOrigin = errors.New("the origin is too long")

// AllowOrigin takes down in the request.Info of r which headers the apiserver adds to its responses for the Origin of r.
// Ever new origins wait for the places of unknown access reviews, and each costs the apiserver less than one of these. An
// error means that the apiserver was not asked.
func (a *Access) AllowOrigin(r *http.Request) (err error) {
	// Of several headers the apiserver looks at the first.
	info, origin := request.From(r.Context()), r.Header.Get("Origin")
	if origin == "" || info.Why != nil && info.Why.Supposed {
		return nil
	}
	if len(origin) > maxOrigin {
		return errOrigin
	}
	by := asker{key: accounts.ByUser(info.User)}
	info.CORS, err = a.Authorizer.origins.get(r.Context(), sha256.Sum256([]byte(origin)), by,
		func(ctx context.Context) (result[http.Header], error) { return a.Authorizer.reviewOrigin(ctx, origin) })
	return err
}

// reviewOrigin asks the apiserver.
func (a *Authorizer) reviewOrigin(ctx context.Context, origin string) (result[http.Header], error) {
	if a.options.CORS == nil {
		return result[http.Header]{ttl: originTTL}, nil
	}
	headers, err := a.options.CORS(ctx, origin)
	got := result[http.Header]{value: headers, positive: len(headers) > 0, ttl: originTTL}
	for name, values := range headers {
		got.bytes += entryBytes + len(name)
		for _, value := range values {
			got.bytes += len(value)
		}
	}
	return got, err
}
