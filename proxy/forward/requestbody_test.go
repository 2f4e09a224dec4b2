package forward_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/http2"
	"k8s.io/client-go/rest"

	"sluice/proxy/request"
	"sluice/test/support/forwardtest"
)

// TestUnsentWriteIsSentAgain: after a 401 the apiserver announces the end of the connection (GOAWAY), and
// does not process the requests that were on their way. 13 of 100 writes failed for what another
// caller had done.
func TestUnsentWriteIsSentAgain(t *testing.T) {
	for name, header := range map[string]http.Header{"as received": nil, "transcoded": {"Content-Type": {"application/yaml"}}} {
		t.Run(name, func(t *testing.T) {
			var connections atomic.Int32
			bodies := make(chan string, 1)
			closing := httptest.NewUnstartedServer(nil)
			closing.EnableHTTP2 = true
			closing.Config.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){
				"h2": func(_ *http.Server, conn *tls.Conn, _ http.Handler) { excludeFirst(t, conn) },
			}
			closing.StartTLS()
			t.Cleanup(closing.Close)
			e := forwardtest.New(t, forwardtest.Settings{
				Caller: request.BearerToken,
				Handler: func(_ http.ResponseWriter, r *http.Request) {
					body, _ := io.ReadAll(r.Body)
					bodies <- string(body)
				},
				Config: func(c *rest.Config) {
					c.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
						if connections.Add(1) == 1 {
							address = closing.Listener.Addr().String()
						}
						return (&net.Dialer{}).DialContext(ctx, network, address)
					}
				},
			})
			resp := e.Do(t, e.NewRequest(t, http.MethodPost, "/api/v1/namespaces/ns/configmaps", merge(bearer("a-client's"), header), strings.NewReader("{}")))
			if resp.StatusCode != http.StatusOK {
				t.Fatalf("response is %s", resp.Status)
			}
			if body := forwardtest.Receive(t, bodies, "request"); body != "{}" || connections.Load() < 2 {
				t.Errorf("upstream received %q over %d connections", body, connections.Load())
			}
		})
	}
}

// excludeFirst reads a whole request and ends the connection with a GOAWAY that excludes it.
func excludeFirst(t *testing.T, conn *tls.Conn) {
	defer conn.Close()
	if _, err := io.ReadFull(conn, make([]byte, len(http2.ClientPreface))); err != nil {
		t.Error(err)
		return
	}
	framer := http2.NewFramer(conn, conn)
	if err := framer.WriteSettings(); err != nil {
		t.Error(err)
	}
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			t.Error(err)
			return
		}
		if data, ok := frame.(*http2.DataFrame); ok && data.StreamEnded() {
			break
		}
	}
	if err := framer.WriteGoAway(0, http2.ErrCodeNo, nil); err != nil {
		t.Error(err)
	}
	_, _ = io.Copy(io.Discard, conn)
}

// TestMalformedBodyIsTheClientsFault: it used to raise the alert for an unreachable upstream.
func TestMalformedBodyIsTheClientsFault(t *testing.T) {
	for name, body := range map[string]string{
		"letters for a length":   "xyz\r\nbody\r\n0\r\n\r\n",
		"longer than its length": "2\r\nbody\r\n0\r\n\r\n",
		"huge length":            "fffffffffffffffff\r\nbody\r\n0\r\n\r\n",
		"bare line feed":         "4\nbody\r\n0\r\n\r\n", // CVE-2025-22871
	} {
		for _, contentType := range []string{"application/json", "application/yaml"} {
			t.Run(name+" "+contentType, func(t *testing.T) {
				e := forwardtest.New(t, forwardtest.Settings{Caller: request.BearerToken, ClientHTTP1: true, Handler: func(_ http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
				}})
				status := sendRaw(t, e, "POST /api/v1/namespaces/ns/pods HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a\r\nContent-Type: "+
					contentType+"\r\nTransfer-Encoding: chunked\r\n\r\n"+body)
				if !strings.Contains(status, " 400 ") {
					t.Errorf("response is %s", status)
				}
				if info := e.End(t); info.Outcome.Reason != "" || info.Outcome.Source != request.SourceGateway {
					t.Errorf("outcome is %+v", info.Outcome)
				}
			})
		}
	}
}

// The transport would not end such a request, and the apiserver would wait for the rest, with a seat of Sluice's.
func TestRequestThatAnnouncesATrailerEndsWithoutBody(t *testing.T) {
	for _, upstreamHTTP1 := range []bool{false, true} {
		e := forwardtest.New(t, forwardtest.Settings{Caller: request.BearerToken, ClientHTTP1: true, UpstreamHTTP1: upstreamHTTP1,
			Handler: func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				w.Header().Set("Received", fmt.Sprint(len(body), err, len(r.Trailer)))
			}})
		r := e.NewRequest(t, http.MethodPost, "/api/v1/namespaces/ns/pods", bearer("a-client's"), struct{ io.Reader }{strings.NewReader("")})
		r.Trailer = http.Header{"X-A": nil}
		if got := e.Do(t, r).Header.Get("Received"); got != "0 <nil> 0" {
			t.Errorf("upstream received %q", got)
		}
	}
}
