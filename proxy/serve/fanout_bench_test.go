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
	"sluice/cache/tree"
	"sluice/codec/splice"
	"sluice/proxy/flowcontrol"
	"sluice/proxy/request"
	"sluice/proxy/resources"
	"sluice/test/harness"
)

// benchStreams is how many watches a connection has.
const benchStreams = 100

// BenchmarkFanOut delivers each event to watches over TLS and HTTP/2 and waits until all have it. The floor is a handler that
// writes the same bytes and does nothing else. Like the apiserver, the handler "alone" compresses each event for each client
// by itself. The CPU time includes the clients, which read and decompress.
func BenchmarkFanOut(b *testing.B) {
	for _, watches := range []int{1, 100, 1000} {
		for _, coding := range []splice.Coding{splice.Identity, splice.Gzip} {
			b.Run(fmt.Sprintf("%d/%s", watches, coding), func(b *testing.B) { benchFanOut(b, watches, coding) })
		}
	}
}

func benchFanOut(b *testing.B, watches int, coding splice.Coding) {
	b.Run("sluice", func(b *testing.B) {
		c := podsOfAge(b, 100, time.Hour)
		resources := new(concurrent)
		e := newEnv(b, c, Options{
			Resources: resources, Encoded: tree.NewBudget(1 << 30), CompressWatches: true, CPU: flowcontrol.NewCPU(2),
		})
		resources.env = e
		pod := harness.Pods(1, "shop", 1)[0]
		version := uint64(100)
		fanOut(b, watches, coding, func(w http.ResponseWriter, r *http.Request) {
			q := e.Request("/api/v1/pods?watch=1&resourceVersion=100", r.Header)
			e.handler.ServeHTTP(w, q.WithContext(request.With(r.Context(), request.From(q.Context()))))
		}, func() {
			version++
			pod.ResourceVersion = fmt.Sprint(version)
			raw, err := pod.Marshal()
			if err != nil {
				b.Fatal(err)
			}
			e.Apply(cache.Modified, &tree.Object{Key: tree.KeyOf(pod.Namespace, pod.Name), RV: version, Data: raw})
		})
	})
	event := podEvent(b)
	b.Run("floor", func(b *testing.B) {
		f := &floor{coding: coding, added: make(chan struct{})}
		fanOut(b, watches, coding, f.watch, func() { f.send(event) })
	})
	if coding == splice.Gzip {
		b.Run("alone", func(b *testing.B) {
			f := &floor{coding: coding, alone: true, added: make(chan struct{})}
			fanOut(b, watches, coding, f.watch, func() { f.send(event) })
		})
	}
}

// concurrent is an env whose look-ups are not recorded.
type concurrent struct{ *env }

// Lookup implements Resources.
func (c concurrent) Lookup(schema.GroupVersionResource, string) (*resources.CachedResource, string) {
	return c.Resource, ""
}

// podEvent returns a JSON event of a pod.
func podEvent(b *testing.B) []byte {
	c := podsOfAge(b, 1, time.Hour)
	e := newEnv(b, c, Options{})
	w := httptest.NewRecorder()
	e.handler.ServeHTTP(w, e.Request("/api/v1/pods?resourceVersion=0", nil))
	return fmt.Appendf(nil, "%s\n", bytes.TrimSpace(w.Body.Bytes()))
}

// floor writes prepared events.
type floor struct {
	coding splice.Coding
	alone  bool // each watch compresses for itself

	mu     sync.RWMutex
	events [][]byte
	added  chan struct{}
}

func (f *floor) send(event []byte) {
	if f.coding != splice.Identity && !f.alone {
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
	}
	if f.coding != splice.Identity && !f.alone {
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
			if f.write(w, e) != nil {
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

// members holds idle compressors.
var members = sync.Pool{New: func() any {
	z, _ := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed)
	return z
}}

// write writes an event, as a gzip member of its own if it is not compressed yet.
func (f *floor) write(w io.Writer, event []byte) error {
	if !f.alone {
		_, err := w.Write(event)
		return err
	}
	z := members.Get().(*gzip.Writer)
	defer members.Put(z)
	z.Reset(w)
	// Close returns the errors of both. Go's reader waits for another member before it returns data that were not flushed.
	_, _ = z.Write(event)
	_ = z.Flush()
	return z.Close()
}

// fanOut opens the watches and calls update in a loop.
func fanOut(b *testing.B, watches int, coding splice.Coding, watch http.HandlerFunc, update func()) {
	s := httptest.NewUnstartedServer(watch)
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	var missing atomic.Int64
	var readers sync.WaitGroup
	all := make(chan struct{}, 1)
	for opened := 0; opened < watches; opened += benchStreams {
		t := s.Client().Transport.(*http.Transport).Clone()
		t.DisableCompression = true
		defer t.CloseIdleConnections()
		for range min(benchStreams, watches) {
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
			readers.Go(func() {
				if coding == splice.Gzip {
					if in, err = gzip.NewReader(in); err != nil {
						return
					}
				}
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
		missing.Store(int64(watches))
		update()
		<-all
	}
	b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/float64(b.N*watches), "cpu-us/event")
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
