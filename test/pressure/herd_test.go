package pressure

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"sluice/test/harness"
)

// The flags make the test a measurement.
var (
	herd       = flag.Int("herd.clients", 10, "clients that list everything while events are frozen")
	herdBytes  = flag.Int("herd.megabytes", 10, "length of all objects, in megabytes")
	herdFrozen = flag.Duration("herd.frozen", 3*time.Second, "for how long events are frozen")
	herdTime   = flag.Duration("herd.time", 2*time.Minute, "when clients give up")
	herdBinary = flag.String("herd.binary", "", "program in bin to test; empty for Sluice with the race detector")
	herdDirect = flag.Bool("herd.direct", false, "list at the apiserver instead of Sluice")
)

// A herd of clients lists everything while events are frozen for some time. What all of them together cost the
// apiserver is a list for each that finds places there, and one of Sluice's own.
func TestAHerdAtFrozenEventsCostsFewLists(t *testing.T) {
	size := *herdBytes * 1_000_000
	namespace := createConfigMaps(t, size/objectSize, objectSize)
	r := startSluice(t, configMaps, harness.SluiceOptions{
		Binary: *herdBinary, Config: fewPlaces,
	})
	r.WaitForCacheSync(t, configMaps, "configmaps.v1")
	readAll(t, r, 1, 0, "")
	from := r.Raw("reader")
	if *herdDirect {
		from = r.client(t)
	}
	r.freeze()
	version := write(t, namespace, "unseen")
	r.counts()
	thaw := time.AfterFunc(*herdFrozen, r.thaw)
	defer thaw.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), *herdTime)
	defer cancel()
	a, done := &answers{served: map[string]int{}, spread: map[string]int{}}, atomic.Int64{}
	var clients, plot sync.WaitGroup
	for range *herd {
		clients.Go(func() {
			if err := a.read(ctx, from, version, "unseen"); err == nil {
				done.Add(1)
			} else if ctx.Err() == nil && !*herdDirect { // the apiserver itself ends lists after a minute
				t.Error(err)
			}
		})
	}
	ended := make(chan struct{})
	plot.Go(func() { r.plot(t, &done, ended) })
	clients.Wait()
	close(ended)
	plot.Wait()
	c := r.counts()
	t.Logf("%d of %d clients are served; %v; %v", done.Load(), *herd, c, a)
	if *herdDirect {
		return
	}
	if most := 2 + int64(*herdFrozen/(30*time.Second)); c.passed.peak > 2 || c.listed.bytes > most*int64(size)*11/10 {
		t.Errorf("%v", c)
	}
	if done.Load() < int64(*herd) {
		t.Errorf("%d clients are not served", int64(*herd)-done.Load())
	}
}

// client returns a client of the relay.
func (r *relay) client(t *testing.T) *harness.RawClient {
	t.Helper()
	config := rest.CopyConfig(apiserver.RESTConfig("reader"))
	config.Host, config.CAFile, config.CAData, config.Insecure = r.server.URL, "", nil, true
	c, err := harness.NewRawClient(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// plot draws a line for each second: the bytes of all lists at the apiserver up to then, and the lists of callers
// that run there.
func (r *relay) plot(t *testing.T, done *atomic.Int64, ended <-chan struct{}) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var text strings.Builder
	for second := 0; ; second++ {
		r.mu.Lock()
		c := r.now
		r.mu.Unlock()
		fmt.Fprintf(&text, "\n%3d s %7.1f MB %4d served %s", second, float64(c.passed.bytes+c.listed.bytes)/1e6, done.Load(), strings.Repeat("#", c.passed.running))
		select {
		case <-tick.C:
		case <-ended:
			t.Log(text.String())
			return
		}
	}
}
