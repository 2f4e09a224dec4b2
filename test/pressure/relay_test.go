package pressure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/test/consistency/wire"
	"sluice/test/harness"
)

// relay stands between Sluice and the apiserver. It counts requests for lists of ConfigMaps.
type relay struct {
	*harness.Sluice
	link *wire.Link
	own  string // the Authorization header of Sluice itself

	mu         sync.Mutex    // guards the fields below
	frozen     chan struct{} // closed when the watches go on; nil while they do
	refuse     int           // the status of every response; 0 passes the responses of the apiserver
	cutStreams bool          // lists of Sluice's own are cut short
	cutPages   bool
	cutAt      []time.Time // when lists were cut short
	now        counted
}

// cutAfter is how many bytes of a list pass that is cut short.
const cutAfter = 1 << 20

// counted is what was counted.
type counted struct {
	passed load // lists of callers
	listed load // lists of Sluice's own, in pages or as a stream
	rolls  int  // lists of all keys
	asked  int  // all requests of Sluice's own for the resource
	own    int  // all requests of Sluice's own
}

func (c counted) String() string {
	return fmt.Sprintf("passed %+v, own lists %+v, %d roll calls, %d of %d own requests", c.passed, c.listed, c.rolls, c.asked, c.own)
}

// load is what requests cost.
type load struct {
	requests, running, peak int
	bytes                   int64
}

// startSluice starts Sluice behind a relay.
func startSluice(t *testing.T) *relay {
	t.Helper()
	config := apiserver.RESTConfig("sluice")
	r := &relay{own: "Bearer " + config.BearerToken}
	_, config = wire.Front(t, config, func(proxy *httputil.ReverseProxy) http.Handler {
		proxy.ModifyResponse = r.respond
		return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			if status := r.begin(q); status != 0 {
				w.Header().Set("Retry-After", "2")
				w.WriteHeader(status)
				return
			}
			proxy.ServeHTTP(w, q)
		})
	})
	t.Cleanup(r.thaw)
	r.link, config = wire.StartLink(t, config)
	r.Sluice = apiserver.StartSluice(t, harness.SluiceOptions{Config: fewPlaces, Flags: []string{"--log-level=warn"}, Upstream: config})
	return r
}

// begin counts a request, and returns the status with which it is refused; 0 if it is not.
func (r *relay) begin(q *http.Request) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.isOwn(q) {
		r.now.own++
		if q.URL.Path == configMaps {
			r.now.asked++
		}
	}
	if r.refuse != 0 {
		return r.refuse
	}
	if l := r.loadOf(q); l != nil {
		l.requests++
		l.running++
		l.peak = max(l.peak, l.running)
	} else if q.URL.Path == configMaps && r.isOwn(q) && !wire.IsWatch(q) && q.URL.RawQuery == "" {
		r.now.rolls++
	}
	return 0
}

func (r *relay) isOwn(q *http.Request) bool { return q.Header.Get("Authorization") == r.own }

// loadOf returns the load that a list of whole objects counts for; nil if it is none.
func (r *relay) loadOf(q *http.Request) *load {
	query := q.URL.Query()
	switch {
	case q.URL.Path != configMaps, strings.Contains(q.Header.Get("Accept"), "as=PartialObjectMetadata"):
		return nil
	case !r.isOwn(q):
		return &r.now.passed
	case query.Get("limit") == "1", wire.IsWatch(q) && query.Get("sendInitialEvents") == "":
		return nil
	}
	return &r.now.listed
}

// respond replaces the body of a response that counts or that is frozen.
func (r *relay) respond(resp *http.Response) error {
	q := resp.Request
	resp.Body = &countedBody{ReadCloser: resp.Body, relay: r, load: r.loadOf(q), ctx: q.Context(), watch: wire.IsWatch(q)}
	return nil
}

// countedBody is the body of a response.
type countedBody struct {
	io.ReadCloser
	relay *relay
	load  *load // nil if it does not count
	ctx   context.Context
	watch bool
	read  int // bytes
	ended sync.Once
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.relay.mu.Lock()
	if b.load != nil {
		b.load.bytes += int64(n)
	}
	frozen := b.relay.frozen
	b.read += n
	cut := b.isCut()
	b.relay.mu.Unlock()
	if cut {
		return 0, errCut
	}
	if b.watch && frozen != nil {
		select {
		case <-frozen:
		case <-b.ctx.Done():
			return 0, b.ctx.Err()
		}
	}
	return n, err
}

var errCut = errors.New("the relay cuts the response short")

// isCut reports whether the response ends here, and takes note of it. The caller must hold relay.mu.
func (b *countedBody) isCut() bool {
	r := b.relay
	cut := b.load == &r.now.listed && b.read > cutAfter && (b.watch && r.cutStreams || !b.watch && r.cutPages)
	if cut {
		r.cutAt = append(r.cutAt, time.Now())
	}
	return cut
}

func (b *countedBody) Close() error {
	b.ended.Do(func() {
		if b.load != nil {
			b.relay.set(func() { b.load.running-- })
		}
	})
	return b.ReadCloser.Close()
}

// set changes what the relay does.
func (r *relay) set(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
}

// freeze holds back what watches deliver, from now on, until thaw.
func (r *relay) freeze() { r.set(func() { r.frozen = make(chan struct{}) }) }

func (r *relay) thaw() {
	r.set(func() {
		if r.frozen != nil {
			close(r.frozen)
			r.frozen = nil
		}
	})
}

// cutTimes returns when lists were cut short.
func (r *relay) cutTimes() []time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.cutAt)
}

// counts returns what was counted since the last call.
func (r *relay) counts() counted {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.now
	r.now = counted{passed: c.passed.next(), listed: c.listed.next()}
	return c
}

// next returns the load to begin to count with while requests run.
func (l load) next() load { return load{running: l.running, peak: l.running} }
