package forward_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"sluice/codec/proto"
	"sluice/proxy/request"
	"sluice/test/support/forwardtest"
)

// TestUnreachableUpstreamIsAStatus in an encoding that the client accepts, with Retry-After.
func TestUnreachableUpstreamIsAStatus(t *testing.T) {
	decoders := map[string]func([]byte, *metav1.Status) error{
		"application/json": func(b []byte, s *metav1.Status) error { return json.Unmarshal(b, s) },
		"application/yaml": func(b []byte, s *metav1.Status) error { return yaml.UnmarshalStrict(b, s) },
		"application/vnd.kubernetes.protobuf": func(b []byte, s *metav1.Status) error {
			u, err := proto.ParseEnvelope(b)
			if err != nil {
				return err
			}
			s.APIVersion, s.Kind = "v1", "Status" // are in the envelope
			return s.Unmarshal(u.Raw)
		},
	}
	want := &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
		Reason: metav1.StatusReasonServiceUnavailable, Code: 503, Details: &metav1.StatusDetails{RetryAfterSeconds: 1},
	}
	requests := map[string]http.Header{"plain": nil, "upgrade": {"Connection": {"Upgrade"}, "Upgrade": {"SPDY/3.1"}}}
	for contentType, decode := range decoders {
		for name, header := range requests {
			t.Run(contentType+" "+name, func(t *testing.T) {
				e := forwardtest.New(t, forwardtest.Settings{Caller: request.BearerToken, ClientHTTP1: true, Config: func(c *rest.Config) { c.Host = unusedURL(t) }})
				h := merge(header, http.Header{"Accept": {contentType}, "Audit-Id": {"the-one"}})
				resp := e.Get(t, "/api/v1/pods", h)
				if resp.StatusCode != 503 || resp.Header.Get("Retry-After") != "1" || resp.Header.Get("Content-Type") != contentType ||
					resp.Header.Get("Audit-Id") != "the-one" || resp.Header.Get("Cache-Control") != "no-cache, private" {
					t.Errorf("response is %s with %v", resp.Status, resp.Header)
				}
				got := &metav1.Status{}
				if err := decode([]byte(forwardtest.ReadAll(t, resp.Body)), got); err != nil {
					t.Fatal(err)
				}
				if got.Message == "" || strings.Contains(got.Message, "127.0.0.1") {
					t.Errorf("message is %q", got.Message)
				}
				got.Message = ""
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if info := e.End(t); info.Outcome.Reason != "upstream-unreachable" {
					t.Errorf("reason is %q", info.Outcome.Reason)
				}
			})
		}
	}
}

// unusedURL returns a URL whose address refuses connections.
func unusedURL(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "https://" + l.Addr().String()
}

// TestCutResponseIsCutForTheClient: it never looks complete.
func TestCutResponseIsCutForTheClient(t *testing.T) {
	half := `{"kind":"PodList","items":[`
	answers := map[string]func(w http.ResponseWriter){
		"of unknown length": func(w http.ResponseWriter) { _, _ = io.WriteString(w, half) },
		"of known length": func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, half)
		},
		"of a refusal": func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, half)
		},
		"after nothing": func(w http.ResponseWriter) { w.WriteHeader(http.StatusOK) },
		"with trailers": func(w http.ResponseWriter) {
			w.Header().Set("Trailer", "X-Sum")
			_, _ = io.WriteString(w, half)
		},
	}
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			handler := func(w http.ResponseWriter, _ *http.Request) {
				answer(w)
				forwardtest.Abort(w)
			}
			forwardtest.EachProtocol(t, forwardtest.Settings{Caller: request.BearerToken, Handler: handler}, func(t *testing.T, e *forwardtest.Env) {
				resp, err := e.Client.Do(e.NewRequest(t, http.MethodGet, "/api/v1/pods", nil, nil))
				if err != nil {
					return // without headers
				}
				defer resp.Body.Close()
				if body, err := io.ReadAll(resp.Body); err == nil {
					t.Errorf("%s with %d bytes was complete", resp.Status, len(body))
				} else if !strings.HasPrefix(half, string(body)) {
					t.Errorf("got %q", body)
				}
			})
		})
	}
}

// TestClosedConnectionIsAStatus: and a write that may have taken effect is not sent again.
func TestClosedConnectionIsAStatus(t *testing.T) {
	forwardtest.EachProtocol(t, forwardtest.Settings{Caller: request.BearerToken, Handler: func(http.ResponseWriter, *http.Request) {
		panic(http.ErrAbortHandler)
	}}, func(t *testing.T, e *forwardtest.Env) {
		resp := e.Do(t, e.NewRequest(t, http.MethodPost, "/api/v1/namespaces/ns/pods", nil, strings.NewReader("{}")))
		if resp.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("response is %s", resp.Status)
		}
		e.Next(t)
		e.ExpectNone(t)
	})
}

// TestCanceledRequestIsAborted: when the gateway ends a request, as after a drain, it must not make
// up a response.
func TestCanceledRequestIsAborted(t *testing.T) {
	handler := func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		panic(http.ErrAbortHandler) // returning would send a response, which may still arrive
	}
	forwardtest.EachProtocol(t, forwardtest.Settings{Caller: request.BearerToken, Handler: handler}, func(t *testing.T, e *forwardtest.Env) {
		ctx, cancel := context.WithCancel(t.Context())
		inner := e.Gateway.Config.Handler
		e.Gateway.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { inner.ServeHTTP(w, r.WithContext(ctx)) })
		responses := make(chan string, 1)
		req := e.NewRequest(t, http.MethodPost, "/api/v1/pods", nil, nil)
		go func() {
			defer close(responses)
			if resp, err := e.Client.Do(req); err == nil {
				resp.Body.Close()
				responses <- resp.Status
			}
		}()
		e.Next(t)
		cancel()
		if status := forwardtest.Receive(t, responses, "end"); status != "" {
			t.Errorf("response is %s", status)
		}
	})
}

// TestClientThatLeavesEndsTheUpstreamRequest at any time.
func TestClientThatLeavesEndsTheUpstreamRequest(t *testing.T) {
	moments := []struct {
		name    string
		begin   func(w http.ResponseWriter) // runs at the upstream before it waits
		waiting bool                        // for the response, when the client leaves
	}{
		{"before the response", func(http.ResponseWriter) {}, true},
		{"after the headers", func(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }, false},
		{"within the body", func(w http.ResponseWriter) {
			_, _ = io.WriteString(w, "piece")
			_ = http.NewResponseController(w).Flush()
		}, false},
	}
	for _, m := range moments {
		t.Run(m.name, func(t *testing.T) {
			ended := make(chan bool)
			handler := func(w http.ResponseWriter, r *http.Request) {
				m.begin(w)
				<-r.Context().Done()
				ended <- true
				panic(http.ErrAbortHandler) // returning would send a response, which may still arrive
			}
			forwardtest.EachProtocol(t, forwardtest.Settings{Caller: request.BearerToken, Handler: handler}, func(t *testing.T, e *forwardtest.Env) {
				req := e.NewRequest(t, http.MethodGet, "/api/v1/pods?watch=1", nil, nil)
				ctx, leave := context.WithCancel(req.Context())
				done := make(chan error, 1)
				go func() {
					resp, err := e.Client.Do(req.WithContext(ctx))
					if err == nil {
						resp.Body.Close()
					}
					done <- err
				}()
				e.Next(t)
				if !m.waiting {
					if err := forwardtest.Receive(t, done, "response"); err != nil {
						t.Fatal(err)
					}
				}
				leave()
				forwardtest.Receive(t, ended, "end at the upstream")
				if info := e.End(t); m.waiting && info.Outcome.Reason != "client-gone" {
					t.Errorf("reason is %q", info.Outcome.Reason)
				}
				if m.waiting {
					if err := forwardtest.Receive(t, done, "end at the client"); !errors.Is(err, context.Canceled) {
						t.Error(err)
					}
				}
			})
		})
	}
}

// TestCutUploadIsCutAtTheUpstream: it never looks complete.
func TestCutUploadIsCutAtTheUpstream(t *testing.T) {
	ends := make(chan error)
	handler := func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.Copy(io.Discard, r.Body)
		ends <- err
	}
	for _, upstreamHTTP1 := range []bool{false, true} {
		for name, framing := range map[string]string{ // too long to be buffered
			"known length":   fmt.Sprintf("Content-Length: 8000000\r\n\r\n%s", make([]byte, 4<<20)),
			"unknown length": fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", 4<<20, make([]byte, 4<<20)),
		} {
			t.Run(fmt.Sprint(name, " ", upstreamHTTP1), func(t *testing.T) {
				e := forwardtest.New(t, forwardtest.Settings{Caller: request.BearerToken, ClientHTTP1: true, UpstreamHTTP1: upstreamHTTP1, Handler: handler})
				conn := dial(t, e)
				if _, err := io.WriteString(conn, "POST /api/v1/namespaces/ns/pods HTTP/1.1\r\nHost: x\r\n"+framing); err != nil {
					t.Fatal(err)
				}
				e.Next(t)
				conn.Close()
				if err := forwardtest.Receive(t, ends, "end of the upload"); err == nil {
					t.Error("the upload was complete")
				}
				e.End(t)
			})
		}
	}
}
