package upstream

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"k8s.io/client-go/rest"

	"sluice/proxy/fault"
	"sluice/test/support/proxytest"
)

func TestHealthIsTheResultOfTheLastProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var handler atomic.Pointer[http.HandlerFunc]
		respond := func(h http.HandlerFunc) { handler.Store(&h) }
		status := func(code int) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/version" && r.URL.Path != "/livez" {
					t.Errorf("probe of %s", r.URL.Path)
				}
				w.WriteHeader(code)
				fmt.Fprintf(w, `{"gitVersion":"v1.%d.0"}`, code)
			}
		}
		respond(status(http.StatusTooManyRequests))
		server := proxytest.Serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*handler.Load())(w, r) }))
		defer server.Close(t)
		u, err := New(Options{Config: &rest.Config{Host: "http://apiserver", Dial: server.Dial}})
		if err != nil {
			t.Fatal(err)
		}
		defer u.Close()
		h := NewHealth(u, zap.NewNop())
		if err := h.Check(); !errors.Is(err, errNotProbed) {
			t.Errorf("before the first probe: %v", err)
		}
		if told := h.Version(); told != nil {
			t.Errorf("before the first probe the version is %v", told)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- h.Run(ctx) }()
		for _, step := range []struct {
			name    string
			handler http.HandlerFunc
			want    string // in the error; empty means healthy
		}{
			{"a busy apiserver of no known version", status(http.StatusTooManyRequests), "status 429"},
			{"the apiserver responds", status(http.StatusOK), ""},
			{"another server", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }, "invalid character"},
			{"an error", status(http.StatusInternalServerError), "status 500"},
			{"unauthorized", status(http.StatusUnauthorized), "status 401"},
			{"recovery", status(http.StatusOK), ""},
			{"no response", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "deadline exceeded"},
			{"a busy apiserver", func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/livez" {
					w.WriteHeader(http.StatusInternalServerError)
					return
				}
				<-r.Context().Done()
			}, ""},
			{"a busy apiserver that refuses", status(http.StatusTooManyRequests), ""},
			{"a closed connection", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "EOF"},
			{"recovery from that", status(http.StatusOK), ""},
		} {
			respond(step.handler)
			time.Sleep(healthInterval + 2*healthTimeout) // virtual
			synctest.Wait()
			err := h.Check()
			away := strings.HasPrefix(step.name, "no response") || strings.HasPrefix(step.name, "a closed")
			r, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://apiserver/livez", nil)
			if resp, err := u.Anonymous.RoundTrip(r); err == nil {
				_ = resp.Body.Close()
			} else if errors.Is(err, ErrAway) != away {
				t.Errorf("%s: a request of a client: %v", step.name, err)
			}
			if u.Away() != away {
				t.Errorf("%s: away: %v", step.name, u.Away())
			}
			if told := h.Version(); (told == nil || told.GitVersion != "v1.200.0") && !strings.HasSuffix(step.name, "no known version") {
				t.Errorf("%s: the version is %v", step.name, told)
			}
			if step.want == "" && err != nil || step.want != "" && (err == nil || !strings.Contains(err.Error(), step.want)) {
				t.Errorf("%s: got %v, want %q", step.name, err, step.want)
			}
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// Everybody may read why Sluice is not ready.
func TestOpenCheckNamesNoAddresses(t *testing.T) {
	const secret = "apiserver.internal"
	dial := func(err error) error {
		return &net.OpError{Op: "dial", Net: "tcp", Addr: &net.UnixAddr{Name: secret}, Err: err}
	}
	for want, err := range map[string]error{
		"not probed":         errNotProbed,
		"status 503":         fault.Status(503),
		"cannot be resolved": dial(&net.DNSError{Err: "no such host", Name: secret, Server: secret}),
		"is not valid":       &tls.CertificateVerificationError{Err: x509.HostnameError{Certificate: &x509.Certificate{DNSNames: []string{secret}}, Host: secret}},
		"in time":            &url.Error{Op: "Get", URL: "https://" + secret, Err: context.DeadlineExceeded},
		"no connections":     dial(os.NewSyscallError("connect", syscall.ECONNREFUSED)),
		"connection":         dial(errors.New("proxyconnect " + secret)),
	} {
		h := NewHealth(nil, zap.NewNop())
		h.note(err, true)
		if got := h.CheckOpenly(); got == nil || !strings.Contains(got.Error(), want) || strings.Contains(got.Error(), secret) {
			t.Errorf("%v: %v", err, got)
		}
	}
	var healthy error
	h := NewHealth(nil, zap.NewNop())
	h.note(healthy, true)
	if err := h.CheckOpenly(); err != nil {
		t.Error(err)
	}
}

// TestWrongKubeconfigsAreDiagnosed with real servers: what net/http and crypto/tls say of each.
func TestWrongKubeconfigsAreDiagnosed(t *testing.T) {
	refuse := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	plain, secure := httptest.NewServer(refuse), httptest.NewTLSServer(refuse)
	defer plain.Close()
	defer secure.Close()
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	closed := httptest.NewServer(refuse)
	closed.Close()
	for host, want := range map[string]string{
		plain.URL: "unauthorized", "https" + plain.URL[4:]: "scheme", secure.URL: "untrusted", "http" + secure.URL[5:]: "scheme",
		closed.URL: "address", "https://apiserver.invalid": "address",
	} {
		u, err := New(Options{Config: &rest.Config{Host: host}})
		if err != nil {
			t.Fatal(err)
		}
		defer u.Close()
		h := NewHealth(u, zap.NewNop())
		h.note(h.probe(t.Context()), false)
		if f := h.Fault(); f.State != want {
			t.Errorf("%s: %+v (%v), want %s", host, f, h.Check(), want)
		}
	}
}
