package restart

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"sluice/test/harness"
)

// leader holds a lease through the gateway.
type leader struct {
	name    string
	started chan struct{} // closed when it leads
	stopped chan struct{} // closed when it leads no longer
}

// elect starts a leader with the given durations.
func elect(t *testing.T, client kubernetes.Interface, name string, lease, renew, retry time.Duration) *leader {
	t.Helper()
	l := &leader{name: name, started: make(chan struct{}), stopped: make(chan struct{})}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: "default", Name: name},
			Client:     client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: "test"},
		},
		LeaseDuration: lease, RenewDeadline: renew, RetryPeriod: retry,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(l.started) },
			OnStoppedLeading: func() { close(l.stopped) },
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { elector.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	return l
}

// leads returns an error once the leader has lost its lease.
func (l *leader) leads() error {
	select {
	case <-l.stopped:
		return errors.New(l.name + " has lost its lease")
	default:
		return nil
	}
}

// renewed returns when the lease was renewed, as the apiserver says.
func (l *leader) renewed(ctx context.Context) (*coordinationv1.Lease, error) {
	return apiserver.Client("admin").CoordinationV1().Leases("default").Get(ctx, l.name, metav1.GetOptions{})
}

// awaitRenewal waits until the lease is renewed.
func (l *leader) awaitRenewal(t *testing.T) {
	t.Helper()
	before, err := l.renewed(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, l.name+" is renewed", func() error {
		now, err := l.renewed(t.Context())
		if err == nil && now.ResourceVersion == before.ResourceVersion {
			err = fmt.Errorf("renewed at %v", now.Spec.RenewTime)
		}
		return err
	})
}

// Leases are renewed every few seconds, and client-go gives up after RenewDeadline. Watches that are
// cached, watches that pass, and idle connections must not keep the gateway from ending.
func TestLeadersSurviveARestartOfASingleGateway(t *testing.T) {
	sluice := apiserver.StartSluice(t, harness.SluiceOptions{Flags: []string{"--log-level=warn"}})
	leaders := []*leader{
		elect(t, sluice.Client("admin"), "default-durations", 15*time.Second, 10*time.Second, 2*time.Second),
		elect(t, sluice.Client("admin"), "short-durations", 6*time.Second, 4*time.Second, 500*time.Millisecond),
	}
	for _, l := range leaders {
		<-l.started
	}
	sluice.WaitForCacheSync(t, "/api/v1/configmaps", "configmaps.v1")
	for _, resource := range []string{"configmaps", "events"} { // events are excluded from the cache
		startInformer(t, sluice.RESTConfig("admin"), resource)
	}
	gap := watchGap(t, sluice)
	for range 2 {
		sluice.Restart(t)
		for _, l := range leaders {
			l.awaitRenewal(t)
			if err := l.leads(); err != nil {
				t.Error(err)
			}
		}
	}
	t.Logf("the longest time without the API was %v", gap())
}

// watchGap sends requests until gap is called, each over a new connection. gap returns the longest time
// between two that succeeded.
func watchGap(t *testing.T, sluice *harness.Sluice) (gap func() time.Duration) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var longest time.Duration
	var running sync.WaitGroup
	config := sluice.RESTConfig("admin")
	url := sluice.URL + "/version"
	running.Go(func() {
		pace := time.NewTicker(10 * time.Millisecond)
		defer pace.Stop()
		for last := time.Now(); ctx.Err() == nil; <-pace.C {
			if succeeds(ctx, t, config, url) {
				now := time.Now()
				longest, last = max(longest, now.Sub(last)), now
			}
		}
	})
	t.Cleanup(cancel)
	return func() time.Duration {
		cancel()
		running.Wait()
		return longest
	}
}

// succeeds reports whether one request succeeds.
func succeeds(ctx context.Context, t *testing.T, config *rest.Config, url string) bool {
	client, err := newHTTPClient(config)
	if err != nil {
		t.Error(err)
		return false
	}
	defer client.CloseIdleConnections()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	resp, err := client.Do(r)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}
