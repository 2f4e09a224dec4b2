package upstream

import (
	"errors"
	"net/http"
	"sync/atomic"
	"time"
)

// ErrAway is the error of a request that is not sent, because the apiserver is away.
var ErrAway = errors.New("the apiserver does not answer")

// contact knows whether the apiserver answers.
type contact struct {
	silent   atomic.Bool  // the last probe has had no answer
	probed   atomic.Int64 // when it began, in nanoseconds since 1970
	answered atomic.Int64 // when the apiserver last began a response
}

// Away reports whether the apiserver has answered nothing since the last probe began, which has had no answer. Requests of clients and
// reviews then fail at once with ErrAway instead of waiting, and Sluice's own watches and lists go on trying.
func (u *Upstream) Away() bool {
	return u.contact.silent.Load() && u.contact.answered.Load() < u.contact.probed.Load()
}

// gate sends no request to an apiserver that is away, and notes each response.
type gate struct {
	http.RoundTripper
	upstream *Upstream
}

func (g gate) RoundTrip(r *http.Request) (*http.Response, error) {
	if g.upstream.Away() {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, ErrAway
	}
	return noting(g).RoundTrip(r)
}

// WrappedRoundTripper implements utilnet.RoundTripperWrapper.
func (g gate) WrappedRoundTripper() http.RoundTripper { return g.RoundTripper }

// noting notes each response.
type noting gate

func (n noting) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := n.RoundTripper.RoundTrip(r)
	if err == nil {
		n.upstream.contact.answered.Store(time.Now().UnixNano())
	}
	return resp, err
}

// WrappedRoundTripper implements utilnet.RoundTripperWrapper.
func (n noting) WrappedRoundTripper() http.RoundTripper { return n.RoundTripper }
