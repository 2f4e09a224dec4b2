package forward_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/proxy/request"
	"sluice/test/support/forwardtest"
)

// TestStreamsArriveAsTheyAreSent: each piece of a log, a watch or what an extension apiserver streams in place of a list
// arrives before the next is written, and the headers before the first.
func TestStreamsArriveAsTheyAreSent(t *testing.T) {
	const log, list, object = "/api/v1/namespaces/ns/pods/p/log?follow=true", "/apis/ex.io/v1/foos", "/apis/ex.io/v1/foos/a"
	for _, row := range []struct{ path, contentType string }{
		{log, "text/plain"}, {log, "application/json"}, {log, "application/vnd.kubernetes.protobuf;stream=watch"}, {log, ""},
		{list, "text/event-stream"}, {list, "application/json"}, {list, ""}, {object, "text/event-stream;charset=utf-8"}, {object, "x/y"},
	} {
		contentType := row.contentType
		t.Run(row.path+" "+contentType, func(t *testing.T) {
			more := make(chan bool)
			handler := func(w http.ResponseWriter, r *http.Request) {
				w.Header()["Content-Type"] = []string{contentType}
				_ = http.NewResponseController(w).Flush()
				for i := 0; <-more; i++ {
					fmt.Fprintf(w, "piece %d\n", i)
					_ = http.NewResponseController(w).Flush()
				}
			}
			forwardtest.EachProtocol(t, forwardtest.Settings{Caller: request.BearerToken, Handler: handler}, func(t *testing.T, e *forwardtest.Env) {
				resp := e.Get(t, row.path, nil)
				for i := range 3 {
					more <- true
					want := fmt.Sprintf("piece %d\n", i)
					got := make([]byte, len(want))
					if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != want {
						t.Fatalf("read %q, %v, want %q", got, err, want)
					}
				}
				more <- false
				if rest := forwardtest.ReadAll(t, resp.Body); rest != "" {
					t.Errorf("%q after the last piece", rest)
				}
			})
		})
	}
}

// The apiserver compresses streaming lists for clients that accept it, as all programs with client-go do.
func TestPassedWatchEndsBetweenEventsAlthoughItsClientAcceptsGzip(t *testing.T) {
	watch := request.NewPassedWatch(false)
	e := forwardtest.New(t, forwardtest.Settings{Caller: request.BearerToken, PassedWatch: watch, Handler: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Header.Get("Accept-Encoding") != "" {
			w.Header().Set("Content-Encoding", "gzip")
		}
		_, _ = io.WriteString(w, "{}\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}})
	resp := e.Get(t, "/api/v1/pods?watch=1", http.Header{"Accept-Encoding": {"gzip"}})
	event := make([]byte, len("{}\n"))
	if _, err := io.ReadFull(resp.Body, event); err != nil {
		t.Fatal(err)
	}
	watch.Ended.Set()
	if rest := forwardtest.ReadAll(t, resp.Body); rest != "" || resp.Header.Get("Content-Encoding") != "" {
		t.Errorf("received %q after the end, headers %v", rest, resp.Header)
	}
}

// TestEmptyStreamKeepsItsFraming: a stream that ends before its first byte has no Content-Length.
func TestEmptyStreamKeepsItsFraming(t *testing.T) {
	handler := func(w http.ResponseWriter, _ *http.Request) { _ = http.NewResponseController(w).Flush() }
	forwardtest.EachProtocol(t, forwardtest.Settings{Caller: request.BearerToken, Handler: handler}, func(t *testing.T, e *forwardtest.Env) {
		for range 20 {
			resp := e.Get(t, "/api/v1/pods?watch=1", nil)
			e.Next(t)
			if body := forwardtest.ReadAll(t, resp.Body); body != "" || resp.ContentLength != -1 || resp.Header.Get("Content-Length") != "" {
				t.Errorf("got %q of length %d", body, resp.ContentLength)
			}
		}
	})
}

// TestUploadsPassAsTheyAreSent: the body of a request is not buffered either.
func TestUploadsPassAsTheyAreSent(t *testing.T) {
	pieces := make(chan string)
	handler := func(w http.ResponseWriter, r *http.Request) {
		buf := make([]byte, 100)
		for {
			n, err := r.Body.Read(buf)
			if n > 0 {
				pieces <- string(buf[:n])
			}
			if err != nil {
				fmt.Fprint(w, err)
				return
			}
		}
	}
	forwardtest.EachProtocol(t, forwardtest.Settings{Caller: request.BearerToken, Handler: handler}, func(t *testing.T, e *forwardtest.Env) {
		read, write := io.Pipe()
		response := make(chan string, 1)
		req := e.NewRequest(t, http.MethodPost, "/api/v1/namespaces/ns/pods/p/proxy/upload", nil, read)
		go func() {
			defer close(response)
			if resp, err := e.Client.Do(req); err == nil {
				defer resp.Body.Close()
				all, _ := io.ReadAll(resp.Body)
				response <- string(all)
			}
		}()
		for _, piece := range []string{"one", "two", "three"} {
			fmt.Fprint(write, piece)
			if got := forwardtest.Receive(t, pieces, "piece"); got != piece {
				t.Errorf("got %q, want %q", got, piece)
			}
		}
		write.Close()
		if got := forwardtest.Receive(t, response, "response"); got != "EOF" {
			t.Errorf("upload ended with %q", got)
		}
	})
}

// TestResponsesPass: of every kind, with their headers; redirects are not followed.
func TestResponsesPass(t *testing.T) {
	var compressed bytes.Buffer
	z := gzip.NewWriter(&compressed)
	fmt.Fprint(z, strings.Repeat("text ", 100))
	z.Close()
	large := strings.Repeat("0123456789abcdef", 1<<16)
	status := `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","code":409}`
	tests := []struct {
		name   string
		method string
		code   int
		header http.Header // of the response
		body   string
	}{
		{"small", "GET", 200, http.Header{"Content-Type": {"application/json"}, "Content-Length": {"2"}}, "{}"},
		{"large", "GET", 200, http.Header{"Content-Type": {"application/json"}}, large},
		{"compressed", "GET", 200, http.Header{"Content-Encoding": {"gzip"}, "Vary": {"Accept-Encoding"}}, compressed.String()},
		{"warnings", "GET", 200, http.Header{"Warning": {`299 - "old"`, `299 - "older"`}, "Audit-Id": {"x"}, "Cache-Control": {"no-cache, private"}}, "{}"},
		{"created", "POST", 201, http.Header{"X-Kubernetes-Pf-Flowschema-Uid": {"1"}}, "{}"},
		{"no content", "DELETE", 204, nil, ""},
		{"not modified", "GET", 304, http.Header{"Etag": {`"x"`}}, ""},
		{"head", "HEAD", 200, http.Header{"Content-Length": {"12345"}}, ""},
		{"options", "OPTIONS", 405, nil, status},
		{"conflict", "PUT", 409, http.Header{"Content-Type": {"application/json"}}, status},
		{"too many", "GET", 429, http.Header{"Retry-After": {"7"}, "Content-Type": {"text/plain; charset=utf-8"}}, "Too many requests, please try again later.\n"},
		{"unauthorized", "GET", 401, nil, status},
		{"forbidden", "PATCH", 403, http.Header{"X-Content-Type-Options": {"nosniff"}}, status},
		{"unknown code", "GET", 599, nil, "what"},
		{"upstream's own 503", "GET", 503, nil, "service unavailable\n"},
		{"moved", "GET", 301, http.Header{"Location": {"/elsewhere"}}, ""},
		{"redirected with method", "POST", 307, http.Header{"Location": {"/api"}}, ""},
		{"moved permanently", "GET", 308, http.Header{"Location": {"api?x=1#y"}}, "text"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			handler := func(w http.ResponseWriter, _ *http.Request) {
				for name, values := range tt.header {
					w.Header()[name] = values
				}
				w.WriteHeader(tt.code)
				_, _ = io.WriteString(w, tt.body)
			}
			forwardtest.EachProtocol(t, forwardtest.Settings{Caller: request.BearerToken, Handler: handler}, func(t *testing.T, e *forwardtest.Env) {
				resp := e.Do(t, e.NewRequest(t, tt.method, "/api/v1/pods", nil, nil))
				if body := forwardtest.ReadAll(t, resp.Body); resp.StatusCode != tt.code || body != tt.body {
					t.Errorf("%d with %d bytes, want %d with %d", resp.StatusCode, len(body), tt.code, len(tt.body))
				}
				for name, want := range tt.header {
					if diff := cmp.Diff(want, resp.Header[name]); diff != "" {
						t.Errorf("%s (-want +got):\n%s", name, diff)
					}
				}
				e.Next(t)
				e.ExpectNone(t)
			})
		})
	}
}

func TestTrailersPass(t *testing.T) {
	for _, announced := range []bool{true, false} {
		t.Run(fmt.Sprint("announced ", announced), func(t *testing.T) {
			handler := func(w http.ResponseWriter, _ *http.Request) {
				name := http.TrailerPrefix + "X-Sum"
				if announced {
					w.Header().Set("Trailer", "X-Sum")
					name = "X-Sum"
				}
				_, _ = io.WriteString(w, "body")
				_ = http.NewResponseController(w).Flush()
				w.Header().Set(name, "the sum")
			}
			forwardtest.EachProtocol(t, forwardtest.Settings{Caller: request.BearerToken, Handler: handler}, func(t *testing.T, e *forwardtest.Env) {
				resp := e.Get(t, "/api/v1/namespaces/ns/services/web/proxy/", nil)
				if body := forwardtest.ReadAll(t, resp.Body); body != "body" {
					t.Errorf("body is %q", body)
				}
				if got := resp.Trailer.Get("X-Sum"); got != "the sum" {
					t.Errorf("trailers are %v", resp.Trailer)
				}
			})
		})
	}
}

// A pod could send them without end to a client that does not read, and every one clears the headers of the response.
func TestInformationalResponsesDoNotPass(t *testing.T) {
	handler := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</a>")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Set("Link", "</b>")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Del("Link")
		fmt.Fprint(w, "{}")
	}
	forwardtest.EachProtocol(t, forwardtest.Settings{Caller: request.BearerToken, Handler: handler}, func(t *testing.T, e *forwardtest.Env) {
		var hints []string
		trace := &httptrace.ClientTrace{Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
			hints = append(hints, fmt.Sprint(code, " ", h.Get("Link")))
			return nil
		}}
		req := e.NewRequest(t, http.MethodGet, "/api/v1/namespaces/ns/services/web/proxy/", nil, nil)
		resp := e.Do(t, req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
		if body := forwardtest.ReadAll(t, resp.Body); resp.StatusCode != 200 || body != "{}" {
			t.Errorf("got %s with %q", resp.Status, body)
		}
		if len(hints) > 0 {
			t.Errorf("hints: %v", hints)
		}
		if link := resp.Header.Get("Link"); link != "" {
			t.Errorf("a header of a hint is in the response: %s", link)
		}
	})
}

// TestClientsThatExpectContinueAreToldTo: what they send takes no seat before it is complete.
func TestClientsThatExpectContinueAreToldTo(t *testing.T) {
	handler := func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Refuse") != "" {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
			return
		}
		_, _ = io.Copy(w, r.Body)
	}
	forwardtest.EachProtocol(t, forwardtest.Settings{Caller: request.BearerToken, Handler: handler}, func(t *testing.T, e *forwardtest.Env) {
		e.Client.Transport.(*http.Transport).ExpectContinueTimeout = forwardtest.Timeout
		expecting := http.Header{"Expect": {"100-continue"}}
		continued := false
		trace := &httptrace.ClientTrace{Got100Continue: func() { continued = true }}
		req := e.NewRequest(t, http.MethodPut, "/api/v1/namespaces/ns/configmaps/c", expecting, strings.NewReader("the body"))
		resp := e.Do(t, req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
		if body := forwardtest.ReadAll(t, resp.Body); body != "the body" || !continued {
			t.Errorf("got %s with %q, continued: %v", resp.Status, body, continued)
		}
		expecting.Set("X-Refuse", "yes")
		resp = e.Do(t, e.NewRequest(t, http.MethodPut, "/api/v1/namespaces/ns/configmaps/c", expecting, strings.NewReader("the body")))
		if resp.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("refused with %s", resp.Status)
		}
	})
}
