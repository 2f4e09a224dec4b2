package serve

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice/cache"
	"sluice/codec/splice"
	"sluice/proxy/flowcontrol"
	"sluice/proxy/request"
	"sluice/proxy/resources"
	"sluice/test/harness"
)

const (
	benchWatchers = 1000
	benchStreams  = 100 // watches on each connection
)

// BenchmarkFanOut delivers each event to 1,000 watches over TLS and HTTP/2 and waits until all have it. The
// floor is a handler that writes the same bytes and does nothing else. The CPU time includes the
// clients, which read and decompress.
func BenchmarkFanOut(b *testing.B) {
	for _, coding := range []splice.Coding{splice.Identity, splice.Gzip} {
		b.Run("sluice/"+coding.String(), func(b *testing.B) {
			c := podsOfAge(b, 100, time.Hour)
			e := newEnv(b, c, Options{
				Encoded: cache.NewBudget(1 << 30), CompressWatches: true, CPU: flowcontrol.NewCPU(0),
				SlowReaders: flowcontrol.NewSlowReaders(1 << 30),
			})
			e.handler.options.Resources = concurrent{e}
			pod := harness.Pods(1, "shop", 1)[0]
			version := uint64(100)
			fanOut(b, coding, func(w http.ResponseWriter, r *http.Request) {
				q := e.request("/api/v1/pods?watch=1&resourceVersion=100", r.Header)
				e.handler.ServeHTTP(w, q.WithContext(request.With(r.Context(), request.From(q.Context()))))
			}, func() {
				version++
				pod.ResourceVersion = fmt.Sprint(version)
				raw, err := pod.Marshal()
				if err != nil {
					b.Fatal(err)
				}
				e.apply(cache.Modified, &cache.Object{Key: cache.KeyOf(pod.Namespace, pod.Name), RV: version, Data: raw})
			})
		})
		b.Run("floor/"+coding.String(), func(b *testing.B) {
			f := &floor{coding: coding, added: make(chan struct{})}
			event := podEvent(b)
			fanOut(b, coding, f.watch, func() { f.send(event) })
		})
	}
}

// concurrent is an env whose look-ups are not recorded.
type concurrent struct{ *env }

// Lookup implements Resources.
func (c concurrent) Lookup(schema.GroupVersionResource, resources.Reader) (*resources.CachedResource, string) {
	return c.resource, ""
}

// podEvent returns a JSON event of a pod.
func podEvent(b *testing.B) []byte {
	c := podsOfAge(b, 1, time.Hour)
	e := newEnv(b, c, Options{})
	w := httptest.NewRecorder()
	e.handler.ServeHTTP(w, e.request("/api/v1/pods?resourceVersion=0", nil))
	return fmt.Appendf(nil, "%s\n", bytes.TrimSpace(w.Body.Bytes()))
}

// floor writes prepared events.
type floor struct {
	coding splice.Coding

	mu     sync.RWMutex
	events [][]byte
	added  chan struct{}
}

func (f *floor) send(event []byte) {
	if f.coding != splice.Identity {
		block := f.coding.Compress(nil, event)
		event = block.Data
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events = append(f.events, event)
	close(f.added)
	f.added = make(chan struct{})
}

func (f *floor) watch(w http.ResponseWriter, r *http.Request) {
	if f.coding != splice.Identity {
		w.Header().Set("Content-Encoding", f.coding.String())
		_, _ = w.Write(splice.NewStream(f.coding).Begin(nil))
	}
	flush := http.NewResponseController(w).Flush
	if flush() != nil {
		return
	}
	for next := 0; ; {
		f.mu.RLock()
		events, added := f.events[next:], f.added
		f.mu.RUnlock()
		for _, e := range events {
			if _, err := w.Write(e); err != nil {
				return
			}
		}
		if next += len(events); len(events) > 0 && flush() != nil {
			return
		}
		select {
		case <-added:
		case <-r.Context().Done():
			return
		}
	}
}

// fanOut opens the watches and calls update in a loop.
func fanOut(b *testing.B, coding splice.Coding, watch http.HandlerFunc, update func()) {
	s := httptest.NewUnstartedServer(watch)
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	var missing atomic.Int64
	var readers sync.WaitGroup
	all := make(chan struct{}, 1)
	for range benchWatchers / benchStreams {
		t := s.Client().Transport.(*http.Transport).Clone()
		t.DisableCompression = true
		defer t.CloseIdleConnections()
		for range benchStreams {
			req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, s.URL, nil)
			if err != nil {
				b.Fatal(err)
			}
			req.Header.Set("Accept-Encoding", coding.String())
			resp, err := t.RoundTrip(req)
			if err != nil {
				b.Fatal(err)
			}
			defer resp.Body.Close()
			in := io.Reader(resp.Body)
			if got := resp.Header.Get("Content-Encoding"); got != strings.TrimPrefix(coding.String(), "identity") {
				b.Fatalf("coding %q", got)
			}
			if coding == splice.Gzip {
				if in, err = gzip.NewReader(in); err != nil {
					b.Fatal(err)
				}
			}
			readers.Go(func() {
				buf := make([]byte, 16<<10)
				for {
					n, err := in.Read(buf)
					for range bytes.Count(buf[:n], []byte{'\n'}) {
						if missing.Add(-1) == 0 {
							all <- struct{}{}
						}
					}
					if err != nil {
						return
					}
				}
			})
		}
	}
	before := cpuTime(b)
	b.ResetTimer()
	for b.Loop() {
		missing.Store(benchWatchers)
		update()
		<-all
	}
	b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/float64(b.N*benchWatchers), "cpu-us/event")
	s.CloseClientConnections()
	readers.Wait()
}

// cpuTime returns the CPU time of this process.
func cpuTime(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
