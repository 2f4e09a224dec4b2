package main

import (
	"bufio"
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
	"os"
	"path/filepath"
	"strings"
	"sync"

	"k8s.io/client-go/rest"

	"sluice/proxy/certs"
	"sluice/test/harness"
)

const (
	floorCommand  = "floor" // the argument that makes this program the floor's child process
	floorWatch    = "/watch"
	floorBodyPath = "/body" // path of the response in all cases without watches
)

// floor is a child process that serves prepared bytes.
type floor struct {
	*child
	dir    string
	target *target // whose clients have tokens for the server that it relays to
	frame  []byte  // of an event of a watch
	orders *gob.Encoder
	lines  *bufio.Reader // one when it serves, and one after each order
}

// floorOrder is the response at a path, or the next frame for all watchers if the path is empty.
type floorOrder struct {
	Path   string
	Header http.Header
	Body   []byte
}

// startFloor runs this program again as the floor. What it has no bytes for it relays to a target.
func startFloor(to *target) *floor {
	f := &floor{dir: must(os.MkdirTemp("", "floor-"))}
	check(rest.LoadTLSFiles(to.config))
	ca := filepath.Join(f.dir, "upstream.crt")
	check(os.WriteFile(ca, to.config.CAData, 0o600))
	f.child = startChild(floorCommand, f.dir, to.config.Host, ca)
	f.orders, f.lines = gob.NewEncoder(f.stdin), bufio.NewReader(f.out)
	line, err := f.lines.ReadString('\n')
	if err != nil {
		check(errors.Join(fmt.Errorf("floor: %w", err), f.stop()))
	}
	f.target = &target{name: floorName, proc: proc(f.cmd.Process.Pid), config: &rest.Config{
		Host: strings.TrimSpace(line), BearerToken: to.config.BearerToken,
		TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(f.dir, "ca.crt")},
	}}
	return f
}

// put sets the response at a path.
func (f *floor) put(path string, a *harness.Response) { f.order(floorOrder{path, a.Header, a.Body}) }

// send makes the floor send its frame to all its watchers.
func (f *floor) send() { f.order(floorOrder{Body: f.frame}) }

func (f *floor) order(o floorOrder) {
	check(f.orders.Encode(o))
	must(f.lines.ReadString('\n'))
}

func (f *floor) stop() error { return errors.Join(f.child.stop(), os.RemoveAll(f.dir)) }

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
