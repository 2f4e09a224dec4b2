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
	"sluice/proxy/forward/forwardtest"
	"sluice/proxy/request"
)

// While the upstream is down, clients get what they know how to handle: a
// Status in their own encoding, and when to come back.
func TestUnreachableUpstreamIsAStatus(t *testing.T) {
	decoders := map[string]func([]byte, *metav1.Status) error{
		"application/json": func(b []byte, s *metav1.Status) error { return json.Unmarshal(b, s) },
		"application/yaml": func(b []byte, s *metav1.Status) error { return yaml.UnmarshalStrict(b, s) },
		"application/vnd.kubernetes.protobuf": func(b []byte, s *metav1.Status) error {
			u, err := proto.ParseEnvelope(b)
			if err != nil {
				return err
			}
			s.APIVersion, s.Kind = "v1", "Status" // told by the envelope
			return s.Unmarshal(u.Raw)
		},
	}
	want := &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
		Reason: metav1.StatusReasonServiceUnavailable, Code: 503, Details: &metav1.StatusDetails{RetryAfterSeconds: 1},
	}
	ways := map[string]http.Header{"plain": nil, "upgrade": {"Connection": {"Upgrade"}, "Upgrade": {"SPDY/3.1"}}}
	for contentType, decode := range decoders {
		for way, header := range ways {
			t.Run(contentType+" "+way, func(t *testing.T) {
				e := forwardtest.New(t, forwardtest.Settings{Caller: request.BearerToken, ClientHTTP1: true, Config: func(c *rest.Config) { c.Host = nowhere(t) }})
				h := merge(header, http.Header{"Accept": {contentType}, "Audit-Id": {"the-one"}})
				resp := e.Get(t, "/api/v1/pods", h)
				if resp.StatusCode != 503 || resp.Header.Get("Retry-After") != "1" || resp.Header.Get("Content-Type") != contentType ||
					resp.Header.Get("Audit-Id") != "the-one" || resp.Header.Get("Cache-Control") != "no-cache, private" {
					t.Errorf("answer is %s with %v", resp.Status, resp.Header)
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

// nowhere returns the URL of an address where nobody listens.
func nowhere(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "https://" + l.Addr().String()
}

// A body that the upstream did not finish must not look like a whole one.
func TestCutAnswerIsNoAnswer(t *testing.T) {
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
					return // not even headers
				}
				defer resp.Body.Close()
				if body, err := io.ReadAll(resp.Body); err == nil {
					t.Errorf("%s with %d bytes ended well", resp.Status, len(body))
				} else if !strings.HasPrefix(half, string(body)) {
					t.Errorf("got %q", body)
				}
			})
		})
	}
}

// An upstream that hangs up without an answer.
func TestNoAnswerIsAStatus(t *testing.T) {
	forwardtest.EachProtocol(t, forwardtest.Settings{Caller: request.BearerToken, Handler: func(http.ResponseWriter, *http.Request) {
		panic(http.ErrAbortHandler)
	}}, func(t *testing.T, e *forwardtest.Env) {
		resp := e.Do(t, e.NewRequest(t, http.MethodPost, "/api/v1/namespaces/ns/pods", nil, strings.NewReader("{}")))
		if resp.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("answer is %s", resp.Status)
		}
		e.Next(t)
		e.ExpectNone(t) // what may have been done is not done again
	})
}

// A request that is cut by the gateway itself, as at the end of a drain, must
// not end in an answer that nobody gave.
func TestCutRequestIsAborted(t *testing.T) {
	handler := func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		panic(http.ErrAbortHandler) // to return would be to answer, and that might still get through
	}
	forwardtest.EachProtocol(t, forwardtest.Settings{Caller: request.BearerToken, Handler: handler}, func(t *testing.T, e *forwardtest.Env) {
		ctx, cut := context.WithCancel(t.Context())
		inner := e.Gateway.Config.Handler
		e.Gateway.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { inner.ServeHTTP(w, r.WithContext(ctx)) })
		answered := make(chan string, 1)
		req := e.NewRequest(t, http.MethodPost, "/api/v1/pods", nil, nil)
		go func() {
			defer close(answered)
			if resp, err := e.Client.Do(req); err == nil {
				resp.Body.Close()
				answered <- resp.Status
			}
		}()
		e.Next(t)
		cut()
		if status := forwardtest.Receive(t, answered, "an end"); status != "" {
			t.Errorf("answer is %s", status)
		}
	})
}

// A client that goes away leaves no work behind at the upstream, at whatever
// moment.
func TestClientGoesAway(t *testing.T) {
	moments := []struct {
		name    string
		begin   func(w http.ResponseWriter) // what the upstream does before it waits
		waiting bool                        // for an answer, when the client goes
	}{
		{"before the answer", func(http.ResponseWriter) {}, true},
		{"after the headers", func(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }, false},
		{"in the middle", func(w http.ResponseWriter) {
			_, _ = io.WriteString(w, "piece")
			_ = http.NewResponseController(w).Flush()
		}, false},
	}
	for _, m := range moments {
		t.Run(m.name, func(t *testing.T) {
			gone := make(chan bool)
			handler := func(w http.ResponseWriter, r *http.Request) {
				m.begin(w)
				<-r.Context().Done()
				gone <- true
			}
			forwardtest.EachProtocol(t, forwardtest.Settings{Caller: request.BearerToken, Handler: handler}, func(t *testing.T, e *forwardtest.Env) {
				req := e.NewRequest(t, http.MethodGet, "/api/v1/pods?watch=1", nil, nil)
				ctx, leave := context.WithCancel(req.Context())
				answered := make(chan error, 1)
				go func() {
					resp, err := e.Client.Do(req.WithContext(ctx))
					if err == nil {
						resp.Body.Close()
					}
					answered <- err
				}()
				e.Next(t)
				if !m.waiting {
					if err := forwardtest.Receive(t, answered, "an answer"); err != nil {
						t.Fatal(err)
					}
				}
				leave()
				forwardtest.Receive(t, gone, "the end of the request at the upstream")
				if info := e.End(t); m.waiting && info.Outcome.Reason != "client-gone" {
					t.Errorf("reason is %q", info.Outcome.Reason)
				}
				if m.waiting {
					if err := forwardtest.Receive(t, answered, "the client's end"); !errors.Is(err, context.Canceled) {
						t.Error(err)
					}
				}
			})
		})
	}
}

// A client that goes away in the middle of what it sends must not make the
// upstream believe that this was all.
func TestCutUploadIsNoUpload(t *testing.T) {
	ends := make(chan error)
	handler := func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.Copy(io.Discard, r.Body)
		ends <- err
	}
	for _, behind := range []bool{false, true} {
		for name, framing := range map[string]string{
			"known length":   "Content-Length: 1000\r\n\r\nhalf",
			"unknown length": "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
		} {
			t.Run(fmt.Sprint(name, " ", behind), func(t *testing.T) {
				e := forwardtest.New(t, forwardtest.Settings{Caller: request.BearerToken, ClientHTTP1: true, UpstreamHTTP1: behind, Handler: handler})
				conn := dial(t, e)
				if _, err := io.WriteString(conn, "POST /api/v1/namespaces/ns/pods HTTP/1.1\r\nHost: x\r\n"+framing); err != nil {
					t.Fatal(err)
				}
				e.Next(t)
				conn.Close()
				if err := forwardtest.Receive(t, ends, "the end of the upload"); err == nil {
					t.Error("half an upload ended well")
				}
				e.End(t)
			})
		}
	}
}

// Two lengths or encodings in one request are how requests are smuggled.
func TestAmbiguousLengthsAreRefused(t *testing.T) {
	tests := map[string]string{
		"two lengths":             "Content-Length: 4\r\nContent-Length: 40\r\n\r\nbody",
		"unknown encoding":        "Transfer-Encoding: xchunked\r\n\r\nbody",
		"encoding and its shadow": "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
		"signed length":           "Content-Length: +4\r\n\r\nbody",
		"space before colon":      "Content-Length : 4\r\n\r\nbody",
		"folded header":           "X-A: a\r\n b\r\nImpersonate-User\r\n : admin\r\n\r\n",
	}
	for name, rest := range tests {
		t.Run(name, func(t *testing.T) {
			e := forwardtest.New(t, forwardtest.Settings{Caller: request.BearerToken, ClientHTTP1: true})
			status := raw(t, e, "POST /api/v1/namespaces/ns/pods HTTP/1.1\r\nHost: x\r\n"+rest)
			if !strings.Contains(status, " 400 ") && !strings.Contains(status, " 501 ") {
				t.Errorf("answer is %s", status)
			}
			e.ExpectNone(t)
		})
	}
	t.Run("length and encoding", func(t *testing.T) { // the encoding wins, and alone goes on
		e := forwardtest.New(t, forwardtest.Settings{Caller: request.BearerToken, ClientHTTP1: true, UpstreamHTTP1: true})
		raw(t, e, "POST /api/v1/namespaces/ns/pods HTTP/1.1\r\nHost: x\r\nContent-Length: 40\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n")
		if got := e.Next(t); got.Header.Get("Content-Length") != "" {
			t.Errorf("upstream got %v", got.Header)
		}
	})
}
