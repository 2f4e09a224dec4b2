package consistency

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/test/harness"
)

const (
	// keptObjects are created before the backup: so many that a list of all costs more than the reads.
	keptObjects = 2000
	// discardedObjects are created after the backup.
	discardedObjects = 40
	// restoreReads is the number of answered reads after which the history is judged.
	restoreReads = 500
	// discardLimit bounds how long it takes until a version is known to be one of a discarded history.
	discardLimit = time.Minute
)

// restoreLoad changes all the time, so that the watch of the store would prove each read.
var restoreLoad = load{
	resource: configMaps, writers: 3, objects: 8, writing: 5 * normalDelay,
	readers: 6, reading: 5 * normalDelay, page: 100, reads: []string{"namespace", "stream, namespace", "get, several"},
}

// etcd is restored from a backup while Sluice cannot reach the apiserver, and passes the version of the store: the
// watch of the store then goes on as if nothing had happened. The proofs of Sluice may cost nothing any more.
func TestPromisesHoldAfterARestoreOfEtcd(t *testing.T) {
	const config = "apiVersion: sluice/v1alpha1\nkind: Configuration\ncache: {proofs: {bytesPerSecond: 1}}\n"
	d := &discardedHistory{}
	results := scenario{name: "restore", seed: *seed, loads: []load{restoreLoad}, config: config, before: d.make, during: d.judge}.run(t)
	for _, r := range results {
		r.judge(t)
	}
}

// discardedHistory is what Sluice, and another one in front of it, have seen before etcd was restored.
type discardedHistory struct {
	servers  []*server
	versions []uint64 // of a list from each
}

// make fills both tiers with objects that a restore of etcd discards, and cuts the lower one off.
func (d *discardedHistory) make(t *testing.T, e *execution) {
	wl := e.workloads[0]
	d.servers = []*server{newServer(t, "lower", e.gateway.RESTConfig("admin")), newServer(t, "upper", upperTier(t, e.gateway))}
	namespace := namespacesOf(e.name)[0]
	unnamed := func(int) string { return `{"metadata":{"generateName":"x-"}}` }
	create(t, keptObjects, wl.path(staticNamespace(e.name), ""), unnamed)
	restore := controlPlane.BackUp(t)
	create(t, discardedObjects, wl.path(namespace, ""), unnamed)
	for _, s := range d.servers {
		harness.Eventually(t, s.name+" is in sync", func() error {
			page, _, err := s.list(t.Context(), wl.path("", ""), url.Values{"resourceVersion": {"0"}}, false)
			if err == nil && (len(page.Items) < keptObjects+discardedObjects || !strings.HasPrefix(page.Source, s.name+": cache;")) {
				err = fmt.Errorf("%d objects from %s", len(page.Items), page.Source)
			}
			if err == nil {
				d.versions = append(d.versions, page.Version)
			}
			return err
		})
	}
	e.gateway.link.Refuse()
	restore()
	page, _, err := wl.groundTruth.server.list(t.Context(), wl.path("", ""), url.Values{}, false)
	if err != nil {
		t.Fatal(err)
	}
	create(t, int(max(d.versions[0], d.versions[1], page.Version)-page.Version), serviceAccounts.path("default", ""), unnamed)
}

// judge lets Sluice reach the apiserver again, and waits until clients that have listed before must list again, and
// until enough reads have been answered, also from the cache.
func (d *discardedHistory) judge(t *testing.T, e *execution) {
	e.gateway.link.Restore()
	wl := e.workloads[0]
	for i, s := range d.servers {
		ctx, cancel := context.WithTimeout(t.Context(), discardLimit)
		defer cancel()
		err := harness.Poll(ctx, func() error {
			q := url.Values{"resourceVersion": {strconv.FormatUint(d.versions[i], 10)}, "timeoutSeconds": {"1"}}
			open, err := s.watch(t.Context(), wl.path("", ""), q)
			for err == nil {
				_, _, err = open.next()
			}
			if open != nil {
				open.close()
			}
			if !gone(err) {
				return fmt.Errorf("ended by %w", err)
			}
			return nil
		})
		if err != nil { // the history may show why
			t.Errorf("a watch from a version that %s has shown goes on: %v", s.name, err)
		}
	}
	e.awaitReads(t, restoreReads)
	harness.Eventually(t, "reads are answered from the cache", func() error {
		if n := wl.recorder.cached(); n < restoreReads/10 {
			return fmt.Errorf("%d are", n)
		}
		return nil
	})
}
