package verify

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"sluice/test/harness"
)

// proxy is a reverse proxy that breaks one thing. A nil function leaves everything as it is.
type proxy struct {
	// request changes what is sent to the apiserver.
	request func(*http.Request)
	// response changes what comes back.
	response func(*http.Response)
	// around serves some requests itself.
	around func(next http.Handler) http.Handler
	// http1 is for a proxy without HTTP/2.
	http1 bool
	// sluice is what the proxy stands before; nil means the apiserver.
	sluice *harness.Sluice
}

// serve starts the proxy, and returns how the admin reaches it.
func serve(t *testing.T, p proxy) *rest.Config {
	t.Helper()
	admin := apiserver.RESTConfig("admin")
	if p.sluice != nil {
		admin = p.sluice.RESTConfig("admin")
	}
	upstream := rest.AnonymousClientConfig(admin)
	upstream.DisableCompression = true
	transport, err := rest.TransportFor(upstream)
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(admin.Host)
	if err != nil {
		t.Fatal(err)
	}
	reverse := &httputil.ReverseProxy{
		Transport: transport,
		ErrorLog:  log.New(io.Discard, "", 0),
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			if r.In.Method != http.MethodGet {
				t.Errorf("%s %s is not a read", r.In.Method, r.In.URL)
			}
			if p.request != nil {
				p.request(r.Out)
			}
			if p.response != nil && watches(r.In) {
				r.Out.Header.Del("Accept-Encoding") // what changes events cannot read them compressed
			}
		},
		ModifyResponse: func(r *http.Response) error {
			if p.response != nil {
				p.response(r)
			}
			return nil
		},
	}
	handler := http.Handler(reverse)
	if p.around != nil {
		handler = p.around(reverse)
	}
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = !p.http1
	server.Config.ErrorLog = reverse.ErrorLog
	server.StartTLS()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	cfg := rest.CopyConfig(admin)
	cfg.Host = server.URL
	cfg.TLSClientConfig = rest.TLSClientConfig{
		CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	}
	return cfg
}

func watches(r *http.Request) bool { return r.URL.Query().Has("watch") }

// without drops a parameter of the query.
func without(parameter string) func(*http.Request) {
	return func(r *http.Request) {
		query := r.URL.Query()
		query.Del(parameter)
		r.URL.RawQuery = query.Encode()
	}
}

// acceptWithout drops a media type that contains a text.
func acceptWithout(text string) func(*http.Request) {
	return func(r *http.Request) {
		if strings.Contains(r.Header.Get("Accept"), text) {
			r.Header.Set("Accept", "application/json")
		}
	}
}

// instead answers some requests with a body.
func instead(of func(*http.Request) bool, status int, contentType, body string) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !of(r) {
				next.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Content-Type", contentType)
			w.Header().Set("Cache-Control", "no-cache, private")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		})
	}
}

// html is a page of what stands between.
const html = "<html><body>Something went wrong.</body></html>"

// setBody replaces the body of a response.
func setBody(r *http.Response, body []byte) {
	r.Body.Close()
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	r.Header.Del("Content-Length")
}

// body is the body of a watch that something is done to.
type body struct {
	io.Reader
	io.Closer
}

// inWatches changes the bodies of watches.
func inWatches(change func(io.ReadCloser) io.Reader) func(*http.Response) {
	return func(r *http.Response) {
		if watches(r.Request) && r.StatusCode == http.StatusOK {
			r.Body = body{change(r.Body), r.Body}
		}
	}
}

// readFunc is an io.Reader.
type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

// held returns what it reads when its reader's buffer is full, or at the end.
func held(from io.ReadCloser) io.Reader {
	return readFunc(func(p []byte) (int, error) {
		n, err := io.ReadFull(from, p)
		if err == io.ErrUnexpectedEOF {
			err = io.EOF
		}
		return n, err
	})
}

// endAfter ends the body in order after a while.
func endAfter(d time.Duration) func(io.ReadCloser) io.Reader {
	return func(from io.ReadCloser) io.Reader {
		time.AfterFunc(d, func() { from.Close() })
		return readFunc(func(p []byte) (int, error) {
			n, err := from.Read(p)
			if err != nil {
				err = io.EOF
			}
			return n, err
		})
	}
}

// cut has the body end with an error.
func cut(from io.ReadCloser) io.Reader {
	return readFunc(func(p []byte) (int, error) {
		n, err := from.Read(p)
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return n, err
	})
}

// endless never ends by itself.
func endless(r *http.Response) {
	ended := r.Request.Context().Done()
	inWatches(func(from io.ReadCloser) io.Reader {
		return readFunc(func(p []byte) (int, error) {
			n, err := from.Read(p)
			if err == io.EOF {
				<-ended
			}
			return n, err
		})
	})(r)
}

// events changes the events of watches; nil drops one.
func events(change func(map[string]any) map[string]any) func(*http.Response) {
	return inWatches(func(from io.ReadCloser) io.Reader {
		read, write := io.Pipe()
		go func() {
			decoder, encoder := json.NewDecoder(from), json.NewEncoder(write)
			for {
				var event map[string]any
				if err := decoder.Decode(&event); err != nil {
					write.CloseWithError(err)
					return
				}
				if event = change(event); event == nil {
					continue
				}
				if encoder.Encode(event) != nil {
					return
				}
			}
		}()
		return read
	})
}

// atMost lets through so many watches at the same time.
func atMost(n int) func(http.Handler) http.Handler {
	places := make(chan struct{}, n)
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if watches(r) {
				select {
				case places <- struct{}{}:
					defer func() { <-places }()
				case <-r.Context().Done():
					return
				}
			}
			next.ServeHTTP(w, r)
		})
	}
}

// unflushed hides from the proxy that it can flush, so that headers wait for a full buffer too.
func unflushed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(struct{ http.ResponseWriter }{w}, r)
	})
}

// busy answers 429 to each request before it serves it.
func busy() func(http.Handler) http.Handler {
	var known sync.Map
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, again := known.LoadOrStore(r.URL.String(), true); again {
				next.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
		})
	}
}

func hasPath(path string) func(*http.Request) bool {
	return func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, path) }
}

func named(object map[string]any) string {
	metadata, _ := object["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	return name
}

// withoutItem drops an object from lists.
func withoutItem(name string) func(*http.Response) {
	return inLists(func(items []map[string]any) []map[string]any {
		return slices.DeleteFunc(items, func(o map[string]any) bool { return named(o) == name })
	})
}

// inLists changes the objects of lists.
func inLists(change func([]map[string]any) []map[string]any) func(*http.Response) {
	return func(r *http.Response) {
		if watches(r.Request) || !strings.HasSuffix(r.Request.URL.Path, "/configmaps") || r.StatusCode != http.StatusOK {
			return
		}
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		var list struct {
			Kind     string           `json:"kind"`
			Metadata map[string]any   `json:"metadata"`
			Items    []map[string]any `json:"items"`
		}
		if json.Unmarshal(raw, &list) == nil && list.Kind == "ConfigMapList" {
			list.Items = change(list.Items)
			raw, _ = json.Marshal(list)
		}
		setBody(r, raw)
	}
}
