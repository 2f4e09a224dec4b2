package connections

import (
	"crypto/tls"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"sluice/proxy/accounts"
	"sluice/test/support/proxytest"
)

// Slowloris: the rest of a frame, or of a header, is not waited for longer than the grace on a connection without requests.
func TestIdleConnectionEndsInsideAFrame(t *testing.T) {
	const settings = "\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	for name, sent := range map[string]string{
		"nothing":             "",
		"the preface":         http2.ClientPreface + settings,
		"some of a preface":   http2.ClientPreface[:5],
		"some of a frame":     http2.ClientPreface + settings + "\x00\x00\x05\x01\x00\x00\x00\x00\x01\x82",
		"some of its header":  http2.ClientPreface + settings + "\x00\x00\x05\x01",
		"some of all headers": http2.ClientPreface + settings + "\x00\x00\x01\x01\x01\x00\x00\x00\x01\x82",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inner := proxytest.NewListener()
				s := httptest.NewUnstartedServer(http.NotFoundHandler())
				_ = s.Listener.Close()
				ledger := accounts.New(accounts.Totals{accounts.Strangers: 1, accounts.Unverified: math.MaxInt64}, math.MaxInt64)
				s.Listener, s.EnableHTTP2 = New(ledger).Listener(inner), true
				s.Config.ConnContext, s.Config.IdleTimeout = ConnContext, 5*time.Second
				if err := ServeHTTP2(s.Config); err != nil {
					t.Fatal(err)
				}
				s.StartTLS()
				defer s.Close()
				plain, err := inner.Dial(t.Context(), "", "")
				if err != nil {
					t.Fatal(err)
				}
				c := tls.Client(plain, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
				defer c.Close()
				go func() { _, _ = io.WriteString(c, sent) }()
				began := time.Now()
				_, _ = io.Copy(io.Discard, c)
				if took := time.Since(began); took < time.Second || took > s.Config.IdleTimeout+grace+2*time.Second {
					t.Errorf("it ended after %v", took)
				}
			})
		})
	}
}
