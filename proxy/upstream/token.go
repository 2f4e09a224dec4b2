package upstream

import (
	"io"
	"net/http"
	"sync/atomic"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
)

// fileToken is the token of Sluice's own credentials in a file, which is read at least once a minute. The transports share it.
type fileToken struct {
	source transport.ResettableTokenSource
	last   atomic.Pointer[string] // used while the file cannot be read
}

// newFileToken returns the token of a configuration, and the configuration without it; nil if it has no token in a file.
func newFileToken(c *rest.Config) (*fileToken, *rest.Config, error) {
	if c.BearerTokenFile == "" {
		return nil, c, nil
	}
	t := &fileToken{source: transport.NewCachedFileTokenSource(c.BearerTokenFile)}
	t.last.Store(&c.BearerToken)
	if c.BearerToken == "" {
		if _, err := t.source.Token(); err != nil {
			return nil, nil, err
		}
	}
	c = rest.CopyConfig(c)
	c.BearerToken, c.BearerTokenFile = "", ""
	return t, c, nil
}

// current returns the token.
func (t *fileToken) current() string {
	if read, err := t.source.Token(); err == nil {
		t.last.Store(&read.AccessToken)
	}
	return *t.last.Load()
}

// wrap returns a transport that adds the token.
func (t *fileToken) wrap(next http.RoundTripper) http.RoundTripper { return tokenSender{t, next} }

// tokenSender adds the token to requests. The apiserver may reject it because the file has a new one, as when the service account
// has been replaced: the request is sent again with this.
type tokenSender struct {
	token *fileToken
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (s tokenSender) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Authorization") != "" {
		return s.next.RoundTrip(r)
	}
	began, token := time.Now(), s.token.current()
	resp, err := s.next.RoundTrip(withToken(r, token))
	if err != nil || resp.StatusCode != http.StatusUnauthorized {
		return resp, err
	}
	s.token.source.ResetTokenOlderThan(began)
	renewed := s.token.current()
	if renewed == token || r.Body != nil && r.Body != http.NoBody && r.GetBody == nil {
		return resp, nil
	}
	again := withToken(r, renewed)
	if r.GetBody != nil {
		if again.Body, err = r.GetBody(); err != nil {
			return resp, nil
		}
	}
	_, _ = io.CopyN(io.Discard, resp.Body, maxMessage)
	_ = resp.Body.Close()
	return s.next.RoundTrip(again)
}

// withToken returns a copy of a request with a token.
func withToken(r *http.Request, token string) *http.Request {
	r = utilnet.CloneRequest(r)
	r.Header.Set("Authorization", "Bearer "+token)
	return r
}

// WrappedRoundTripper implements utilnet.RoundTripperWrapper.
func (s tokenSender) WrappedRoundTripper() http.RoundTripper { return s.next }
