package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"

	"k8s.io/client-go/rest"
)

// Request is a request that is sent unchanged, with only the headers that HTTP requires and, unless it
// has one, the user's Authorization header.
type Request struct {
	Method string // empty means GET
	Path   string // with the query, escaped
	Header http.Header
	Body   []byte
	HTTP1  bool // HTTP/1.1 instead of HTTP/2
}

// Response is a complete response. Its body is not decompressed.
type Response struct {
	Status  int
	Proto   string
	Header  http.Header
	Body    []byte
	Trailer http.Header
}

// RawClient sends requests to one server as one user.
type RawClient struct {
	base   string
	token  string
	h1, h2 *http.Client
}

// NewRawClient returns a RawClient for the server and user of cfg. The caller must call Close.
func NewRawClient(cfg *rest.Config) (*RawClient, error) {
	h1, err := rawClient(cfg, func(p *http.Protocols) { p.SetHTTP1(true) })
	if err != nil {
		return nil, err
	}
	h2, err := rawClient(cfg, func(p *http.Protocols) { p.SetHTTP2(true) })
	if err != nil {
		return nil, err
	}
	return &RawClient{base: cfg.Host, token: cfg.BearerToken, h1: h1, h2: h2}, nil
}

// RawClientFor is NewRawClient for a test, at whose end it closes idle connections.
func RawClientFor(t testing.TB, cfg *rest.Config) *RawClient {
	t.Helper()
	r, err := NewRawClient(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// rawClient returns a client that uses one protocol, follows no redirects and requests no compression.
func rawClient(cfg *rest.Config, protocol func(*http.Protocols)) (*http.Client, error) {
	tlsConfig, err := rest.TLSConfigFor(cfg)
	if err != nil {
		return nil, err
	}
	t := &http.Transport{TLSClientConfig: tlsConfig, DisableCompression: true, Protocols: new(http.Protocols)}
	protocol(t.Protocols)
	return &http.Client{
		Transport:     t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

// Open sends a request and returns when it has received the response header, so that the caller can
// read the body as a stream. The caller must close the body.
func (r *RawClient) Open(ctx context.Context, q Request) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, q.Method, r.base+q.Path, bytes.NewReader(q.Body))
	if err != nil {
		return nil, err
	}
	req.Header = q.Header.Clone()
	if req.Header == nil {
		req.Header = make(http.Header)
	}
	if r.token != "" && req.Header.Get("Authorization") == "" {
		req.Header.Set("Authorization", "Bearer "+r.token)
	}
	if q.HTTP1 {
		return r.h1.Do(req)
	}
	return r.h2.Do(req)
}

// Do sends a request and reads the complete response.
func (r *RawClient) Do(ctx context.Context, q Request) (*Response, error) {
	resp, err := r.Open(ctx, q)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("%s %s: read the body: %w", q.Method, q.Path, err)
	}
	return &Response{resp.StatusCode, resp.Proto, resp.Header, body, resp.Trailer}, nil
}

// Get sends a GET with an Accept header.
func (r *RawClient) Get(ctx context.Context, path, accept string) (*Response, error) {
	return r.Do(ctx, Request{Path: path, Header: http.Header{"Accept": {accept}}})
}

// MustDo is Do for a test, which an error ends.
func (r *RawClient) MustDo(t testing.TB, q Request) *Response {
	t.Helper()
	a, err := r.Do(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// MustGet is Get for a test, which an error ends.
func (r *RawClient) MustGet(t testing.TB, path, accept string) *Response {
	t.Helper()
	return r.MustDo(t, Request{Path: path, Header: http.Header{"Accept": {accept}}})
}

// Write sends an object, or a merge patch, in JSON. A refusal is an error, too.
func (r *RawClient) Write(ctx context.Context, method, path, object string) (*Response, error) {
	contentType := "application/json"
	if method == http.MethodPatch {
		contentType = "application/merge-patch+json"
	}
	a, err := r.Do(ctx, Request{Method: method, Path: path, Body: []byte(object), Header: http.Header{"Content-Type": {contentType}}})
	if err != nil {
		return &Response{}, err
	}
	if a.Status >= http.StatusBadRequest {
		err = fmt.Errorf("%s %s: %d: %s", method, path, a.Status, a.Body)
	}
	return a, err
}

// AwaitStatus repeats a request until the response has a status.
func (r *RawClient) AwaitStatus(t testing.TB, status int, q Request) {
	t.Helper()
	Eventually(t, fmt.Sprintf("%s %s is answered %d", q.Method, q.Path, status), func() error {
		a, err := r.Do(t.Context(), q)
		if err == nil && a.Status != status {
			err = fmt.Errorf("%d: %s", a.Status, a.Body)
		}
		return err
	})
}

// Must sends a request as Write does. An error ends the test.
func (r *RawClient) Must(t testing.TB, method, path, object string) *Response {
	t.Helper()
	a, err := r.Write(t.Context(), method, path, object)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// MustOpen is Open for a test, which ends on an error and on a status other than those wanted, by default on each from 400.
// The body is closed when the test ends.
func (r *RawClient) MustOpen(t testing.TB, q Request, want ...int) *http.Response {
	t.Helper()
	resp, err := r.Open(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	fine := resp.StatusCode < http.StatusBadRequest
	if len(want) > 0 {
		fine = slices.Contains(want, resp.StatusCode)
	}
	if !fine {
		t.Fatalf("%s %s: %s", q.Method, q.Path, resp.Status)
	}
	return resp
}

// MustCreate is Create for a test, which an error ends.
func (c *ControlPlane) MustCreate(t testing.TB, path, object string) {
	t.Helper()
	if err := c.Create(t.Context(), path, object); err != nil {
		t.Fatal(err)
	}
}

// MustHave is MustCreate, but the object may be there already, as one that other tests share.
func (c *ControlPlane) MustHave(t testing.TB, path, object string) {
	t.Helper()
	if err := c.Create(t.Context(), path, object); err != nil && !errors.Is(err, errExists) {
		t.Fatal(err)
	}
}

// errExists is returned for an object that is there already.
var errExists = errors.New("it exists")

// Create creates an object. It tries again while its resource is not served yet (404), its namespace is not known yet (403), or
// the apiserver fails. An object that exists is an error, unless a failed attempt may have created it.
func (c *ControlPlane) Create(ctx context.Context, path, object string) (err error) {
	failed := false
	_ = Poll(ctx, func() error {
		var a *Response
		a, err = c.Raw("admin").Write(ctx, http.MethodPost, path, object)
		switch {
		case a.Status == 0 || a.Status >= http.StatusInternalServerError:
			failed = true
			return err
		case a.Status == http.StatusNotFound || a.Status == http.StatusForbidden:
			return err
		case a.Status == http.StatusConflict && failed:
			err = nil
		case a.Status == http.StatusConflict:
			err = fmt.Errorf("%w: %w", errExists, err)
		}
		return nil
	})
	return err
}

// Close closes idle connections; r can still be used.
func (r *RawClient) Close() {
	r.h1.CloseIdleConnections()
	r.h2.CloseIdleConnections()
}
