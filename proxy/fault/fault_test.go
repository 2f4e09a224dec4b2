package fault

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestFaultsAreToldApart: from each cause follows a state, a sentence, and one sentence of what to do.
func TestFaultsAreToldApart(t *testing.T) {
	dial := func(errno syscall.Errno) error {
		return &url.Error{Op: "Get", Err: &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", errno)}}
	}
	for _, tt := range []struct {
		cause           string
		err             error
		answered        bool
		state, says, do string
	}{
		{"an expired token", Status(401), true, "unauthorized", "does not accept Sluice's own credentials", "Renew the token"},
		{"a missing right", Status(403), true, "forbidden", "forbids", "Bind the ClusterRole"},
		{"another CA", &url.Error{Err: &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}}, false, "untrusted", "x509", "certificate-authority"},
		{"http for https", Status(400), true, "scheme", "http, and a server with TLS", "Write https://"},
		{"https for http", &url.Error{Err: http.ErrSchemeMismatch}, false, "scheme", "https, and a server without TLS", "Write http://"},
		{"the same over HTTP/2", &url.Error{Err: tls.RecordHeaderError{}}, false, "scheme", "https, and a server without TLS", "Write http://"},
		{"a wrong name", &url.Error{Err: &net.DNSError{Err: "no such host"}}, false, "address", "no apiserver at the address", "Correct the address"},
		{"a wrong port", dial(syscall.ECONNREFUSED), false, "address", "no apiserver at the address", "Correct the address"},
		{"a wrong network", dial(syscall.EHOSTUNREACH), false, "address", "no apiserver at the address", "Correct the address"},
		{"DNS is down", &url.Error{Err: &net.DNSError{Err: "server misbehaving"}}, true, "away", "cannot be resolved", "Repair"},
		{"a stopped apiserver", dial(syscall.ECONNREFUSED), true, "away", "accepts no connections", "Repair"},
		{"a dropped route", dial(syscall.ENETUNREACH), true, "away", "No network", "Repair"},
		{"a frozen apiserver", &url.Error{Err: context.DeadlineExceeded}, true, "away", "in time", "Repair"},
		{"a failing apiserver", Status(503), true, "away", "status 503", "Repair"},
		{"a closed connection", io.EOF, true, "away", "connection", "Repair"},
		{"none", nil, true, "", "", ""},
	} {
		f := Of(tt.err, tt.answered)
		if f.State != tt.state || !strings.Contains(f.Says, tt.says) || !strings.HasPrefix(strings.TrimPrefix(f.Do, "Put the apiserver's CA into "), tt.do) {
			t.Errorf("%s: %+v, want %s", tt.cause, f, tt.state)
		}
		if tt.err != nil && !slices.Contains(States, f.State) {
			t.Errorf("%s: States lacks %s", tt.cause, f.State)
		}
	}
}
