package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"runtime/debug"
	"sync"

	"k8s.io/client-go/rest"

	"sluice/proxy/certs"
)

// serveFloor runs in the child process and serves until stdin ends.
func serveFloor(_ context.Context, args []string, stdin io.Reader, out io.Writer) {
	files := must(certs.Ensure(args[0], []string{"127.0.0.1"}))
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	s := &http.Server{
		Handler: newFloorHandler(relayTo(args[1:])),
		HTTP2:   &http.HTTP2Config{MaxConcurrentStreams: streams},
	}
	fmt.Fprintf(out, "https://%s\n", l.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, stdin)
		_ = s.Close()
	}()
	if err := s.ServeTLS(l, files.Cert, files.Key); !errors.Is(err, http.ErrServerClosed) {
		check(err)
	}
}

// relayTo returns the bare reverse proxy of the standard library in front of a server, by its address and CA file: the least
// that a gateway can add to a read that it passes. Without them it relays nothing.
func relayTo(server []string) http.Handler {
	if len(server) == 0 {
		return nil
	}
	config := &rest.Config{TLSClientConfig: rest.TLSClientConfig{CAFile: server[1]}}
	base := must(url.Parse(server[0]))
	return &httputil.ReverseProxy{
		Transport: &http.Transport{TLSClientConfig: must(rest.TLSConfigFor(config)), DisableCompression: true, ForceAttemptHTTP2: true},
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(base) },
	}
}

// floorHandler serves the bytes that PUT and POST requests have set. DELETE returns memory to the operating system.
type floorHandler struct {
	relay http.Handler // of requests for other paths; may be nil

	mu     sync.RWMutex // guards the fields below
	bodies map[string]*floorBody
	frames [][]byte
	added  chan struct{} // closed when a frame is added
}

type floorBody struct {
	header http.Header
	bytes  []byte
}

func newFloorHandler(relay http.Handler) *floorHandler {
	return &floorHandler{relay: relay, bodies: map[string]*floorBody{}, added: make(chan struct{})}
}

func (h *floorHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodPut:
		h.put(r)
	case http.MethodPost:
		h.send(r)
	case http.MethodDelete:
		debug.FreeOSMemory()
	default:
		if r.URL.Path == floorWatch || r.URL.Query().Has("watch") {
			h.watch(r.Context(), w, h.body(floorWatch))
			return
		}
		if b := h.body(r.URL.Path); b != nil || h.relay == nil {
			b.write(w)
			return
		}
		h.relay.ServeHTTP(w, r)
	}
}

func (h *floorHandler) put(r *http.Request) {
	b := &floorBody{header: contentOf(r.Header)}
	b.bytes, _ = io.ReadAll(r.Body) // put's caller sees the error
	h.mu.Lock()
	defer h.mu.Unlock()
	h.bodies[r.URL.Path] = b
}

// body returns the body of a path, nil if it has none.
func (h *floorHandler) body(path string) *floorBody {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.bodies[path]
}

// write responds with the body. Without one it responds with 200 too, so that clients can connect.
func (b *floorBody) write(w http.ResponseWriter) {
	if b == nil {
		return
	}
	for name, v := range b.header {
		w.Header()[name] = v
	}
	_, _ = w.Write(b.bytes)
}

// send adds a frame and wakes the watchers.
func (h *floorHandler) send(r *http.Request) {
	frame, _ := io.ReadAll(r.Body)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.frames = append(h.frames, frame)
	close(h.added)
	h.added = make(chan struct{})
}

// watch writes a beginning and then the frames that are added, each with one Write.
func (h *floorHandler) watch(ctx context.Context, w http.ResponseWriter, begin *floorBody) {
	h.mu.RLock()
	next := len(h.frames)
	h.mu.RUnlock()
	begin.write(w)
	flush := http.NewResponseController(w).Flush
	if flush() != nil {
		return
	}
	for {
		h.mu.RLock()
		frames, added := h.frames[next:], h.added
		h.mu.RUnlock()
		for _, f := range frames {
			if _, err := w.Write(f); err != nil {
				return
			}
		}
		if next += len(frames); len(frames) > 0 && flush() != nil {
			return
		}
		select {
		case <-added:
		case <-ctx.Done():
			return
		}
	}
}
