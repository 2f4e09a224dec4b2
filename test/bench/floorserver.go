package main

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"

	"k8s.io/client-go/rest"

	"sluice/proxy/certs"
)

// serveFloor runs in the child process, and serves and obeys until stdin ends.
func serveFloor(_ context.Context, args []string, stdin io.Reader, out io.Writer) {
	files := must(certs.Ensure(args[0], []string{"127.0.0.1"}))
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	h := &floorHandler{relay: relayTo(args[1], args[2]), bodies: map[string]*floorOrder{}, added: make(chan struct{})}
	s := &http.Server{Handler: h, HTTP2: &http.HTTP2Config{MaxConcurrentStreams: streams}}
	fmt.Fprintf(out, "https://%s\n", l.Addr())
	go func() {
		for orders := gob.NewDecoder(stdin); ; fmt.Fprintln(out) {
			o := new(floorOrder)
			if orders.Decode(o) != nil {
				_ = s.Close()
				return
			}
			h.obey(o)
		}
	}()
	if err := s.ServeTLS(l, files.Cert, files.Key); !errors.Is(err, http.ErrServerClosed) {
		check(err)
	}
}

// relayTo returns the bare reverse proxy of the standard library in front of a server, by its address and CA file: the least
// that a gateway can add to a read that it passes.
func relayTo(address, ca string) http.Handler {
	config := &rest.Config{TLSClientConfig: rest.TLSClientConfig{CAFile: ca}}
	base := must(url.Parse(address))
	return &httputil.ReverseProxy{
		Transport: &http.Transport{TLSClientConfig: must(rest.TLSConfigFor(config)), DisableCompression: true, ForceAttemptHTTP2: true},
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(base) },
	}
}

// floorHandler serves the bytes of its orders.
type floorHandler struct {
	relay http.Handler // of requests for other paths

	mu     sync.RWMutex // guards the fields below
	bodies map[string]*floorOrder
	frames [][]byte
	added  chan struct{} // closed when a frame is added
}

func (h *floorHandler) obey(o *floorOrder) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if o.Path != "" {
		h.bodies[o.Path] = o
		return
	}
	h.frames = append(h.frames, o.Body)
	close(h.added)
	h.added = make(chan struct{})
}

func (h *floorHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.RLock()
	o := h.bodies[r.URL.Path]
	h.mu.RUnlock()
	if o == nil {
		h.relay.ServeHTTP(w, r)
		return
	}
	maps.Copy(w.Header(), o.Header)
	_, _ = w.Write(o.Body)
	if o.Path == floorWatch {
		h.watch(r.Context(), w)
	}
}

// watch writes the frames that are added, each with one Write.
func (h *floorHandler) watch(ctx context.Context, w http.ResponseWriter) {
	h.mu.RLock()
	next := len(h.frames)
	h.mu.RUnlock()
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
