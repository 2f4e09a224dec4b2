package deploy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"sluice/test/harness"
)

// limited is the configuration of a gateway that compares often and has little room, but for the path of its audit log.
const limited = "{apiVersion: sluice/v1alpha1, kind: Configuration, cache: {checkEvery: 1s}, audit: {path: %s}," +
	" limits: {memory: 134217728}}"

// fewDescriptors make each connection so dear that fewer than manyConnections use up the estimated memory, long before the process
// uses what it has.
const fewDescriptors, manyConnections = 1000, 1200

// lost is the alert of a lost event. It ends by itself: the store is rebuilt.
const lost = "SluiceStoreMismatch limited"

// refused are the alerts that faults of a relay, limits, and a pipe that nobody reads fire.
var refused = []string{
	"SluiceAuditIncomplete limited", "SluiceRefusesRequests limited", "SluiceRevokes limited",
	"SluiceStoreForbidden relayed", "SluiceStoreNotSynced relayed", "SluiceWatchesPass",
}

// stale is the alert of a store whose watch says nothing. Its three minutes are a figure of the metric, which no rule shortens.
const stale = "SluiceStoreLagging relayed"

// TestLossesAndLimitsFireAlertsAndRepairEndsThem makes faults that the apiserver does not know of.
func TestLossesAndLimitsFireAlertsAndRepairEndsThem(t *testing.T) {
	t.Parallel()
	apiserver := harness.Start(t)
	silent, lossy, unfilled, forbidden := &fault{}, &fault{}, &fault{code: http.StatusServiceUnavailable}, &fault{code: http.StatusForbidden}
	relay := newFaultyRelay(t, apiserver, map[string]*fault{
		"limitranges": silent, "podtemplates": lossy, "replicationcontrollers": unfilled, "endpoints": forbidden,
	})
	start := func(config string, descriptors int) *harness.Sluice {
		return apiserver.StartSluice(t, harness.SluiceOptions{
			Binary: "sluice", Config: config, Upstream: relay.upstream, Descriptors: descriptors,
		})
	}
	pipe := filepath.Join(t.TempDir(), "audit")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	leave := read(t, pipe)
	little, relayed := start(fmt.Sprintf(limited, pipe), fewDescriptors), start("", 0)
	rules := alerts(t, objects(t, charted(t, "components")))
	m := startPrometheus(t, rules, map[string]*harness.Sluice{"limited": little, "relayed": relayed})
	relayed.WaitForCacheSync(t, "/api/v1/limitranges", "limitranges.v1")
	silent.on.Store(true)

	little.WaitForCacheSync(t, "/api/v1/podtemplates", "podtemplates.v1")
	m.awaitData(t, curve{Expr: `sluice_store_mismatches_total{resource="podtemplates"}`})
	loseEvent(t, apiserver, lossy)
	m.awaitFiring(t, lost)
	for resource, of := range map[string]*fault{"replicationcontrollers": unfilled, "endpoints": forbidden} {
		of.on.Store(true)
		watch(t, relayed, "/api/v1/"+resource+"?watch=1&resourceVersion=0")
	}
	leave()
	stop := exceed(t, little)
	m.awaitFiring(t, refused...)

	unfilled.on.Store(false)
	forbidden.on.Store(false)
	read(t, pipe)
	stop()
	harness.Eventually(t, "two minutes without a proof", func() error {
		metrics, err := relayed.Metrics()
		if s := metrics.Sum("sluice_store_proven_seconds", "resource=limitranges"); err == nil && s < 120 {
			err = fmt.Errorf("%v s", s)
		}
		return err
	})
	m.awaitFiring(t, stale)
	silent.on.Store(false)
	apiserver.MustCreate(t, "/api/v1/namespaces/default/limitranges", `{"metadata":{"name":"news"}}`)
	m.awaitQuiet(t)
}

// read reads what is written to a pipe, until it is told to leave.
func read(t *testing.T, path string) (leave func()) {
	t.Helper()
	pipe, err := os.OpenFile(path, os.O_RDWR, 0) // which waits for no writer
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, pipe) }()
	leave = func() { pipe.Close() }
	t.Cleanup(leave)
	return leave
}

// loseEvent has stores of podtemplates lose an event, and receive the next one.
func loseEvent(t *testing.T, c *harness.ControlPlane, lossy *fault) {
	t.Helper()
	create := func(name string) {
		c.MustCreate(t, "/api/v1/namespaces/default/podtemplates", fmt.Sprintf(
			`{"metadata":{"name":%q},"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}}`, name))
	}
	lossy.on.Store(true)
	create("lost")
	harness.Eventually(t, "an event that is lost", func() error {
		if lossy.lost.Load() == 0 {
			return errors.New("none")
		}
		return nil
	})
	lossy.on.Store(false)
	create("received")
}

// exceed uses more than the limits of a gateway, until stop is called.
func exceed(t *testing.T, s *harness.Sluice) (stop func()) {
	t.Helper()
	var open []*harness.RawClient
	connect := func(ctx context.Context, user string) *harness.RawClient {
		c, err := harness.NewRawClient(s.RESTConfig(user))
		if err != nil {
			panic(err) // as Raw for an unknown user
		}
		_, _ = c.Get(ctx, "/api/v1/podtemplates?resourceVersion=0", "application/json") // its connection may be one too many
		return c
	}
	stopConnecting := repeat(t, func(limited context.Context) {
		some := make([]*harness.RawClient, 50)
		var connecting sync.WaitGroup
		for i := range some {
			connecting.Go(func() { some[i] = connect(limited, "reader") })
		}
		connecting.Wait()
		if open = append(open, some...); len(open) > manyConnections {
			for _, c := range open[:len(some)] {
				c.Close()
			}
			open = open[len(some):]
		}
		connect(limited, "nobody").Close() // a user who holds less, for whom something of the other is revoked
	})
	return func() {
		stopConnecting()
		for _, c := range open {
			c.Close()
		}
	}
}
