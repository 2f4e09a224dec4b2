package restart

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"sluice/test/harness"
)

// leader holds a lease through the gateway.
type leader struct {
	*leaderelection.LeaderElector
	name    string
	stopped chan struct{} // closed when it leads no longer
	end     func()        // ends it, and returns once it has
}

// elect starts a leader with the given durations, and waits until it leads.
func elect(t *testing.T, client kubernetes.Interface, name string, lease, renew, retry time.Duration) *leader {
	t.Helper()
	l := &leader{name: name, stopped: make(chan struct{})}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: "default", Name: name},
			Client:     client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: "test"},
		},
		LeaseDuration: lease, RenewDeadline: renew, RetryPeriod: retry,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) {},
			OnStoppedLeading: func() { close(l.stopped) },
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	l.LeaderElector = elector
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { l.Run(ctx) })
	l.end = func() { cancel(); running.Wait() }
	t.Cleanup(l.end)
	harness.Eventually(t, l.name+" leads", func() error {
		if !l.IsLeader() {
			return errors.New("it does not")
		}
		return nil
	})
	return l
}

// renews waits until the leader renews its lease, and returns an error if it has lost it.
func (l *leader) renews(t *testing.T) (lost error) {
	t.Helper()
	leases := apiserver.Client("admin").CoordinationV1().Leases("default")
	before, err := leases.Get(t.Context(), l.name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, l.name+" is renewed", func() error {
		select {
		case <-l.stopped:
			lost = errors.New(l.name + " has lost its lease")
			return nil
		default:
		}
		now, err := leases.Get(t.Context(), l.name, metav1.GetOptions{})
		if err == nil && now.ResourceVersion == before.ResourceVersion {
			err = fmt.Errorf("renewed at %v", now.Spec.RenewTime)
		}
		return err
	})
	return lost
}

const (
	// survivals is how many restarts in a row the same leaders must survive, within at most restarts: on a
	// loaded machine the start of one gateway may take longer than a lease. What keeps a gateway from
	// ending delays every restart, by seconds.
	survivals = 2
	restarts  = 6
)

// Leases are renewed every few seconds, and client-go gives up after RenewDeadline. Watches that are
// cached, watches that pass, and idle connections must not keep the gateway from ending.
func TestLeadersSurviveARestartOfASingleGateway(t *testing.T) {
	sluice := apiserver.StartSluice(t, harness.SluiceOptions{Binary: "sluice", Flags: []string{"--log-level=warn"}})
	sluice.WaitForCacheSync(t, "/api/v1/configmaps", "configmaps.v1")
	m := startManager(t, sluice, corev1.SchemeGroupVersion.WithResource("configmaps"),
		corev1.SchemeGroupVersion.WithResource("events")) // which are excluded from the cache
	harness.Eventually(t, "informers are in sync", m.synced)
	survived := 0
	var usual, short *leader
	for n := 0; n < restarts && survived < survivals; n++ {
		if survived == 0 {
			usual = elect(t, sluice.Client("admin"), "usual-durations", 15*time.Second, 10*time.Second, 2*time.Second)
			short = elect(t, sluice.Client("admin"), "short-durations", 6*time.Second, 4*time.Second, 500*time.Millisecond)
		}
		sluice.Restart(t)
		if err := errors.Join(usual.renews(t), short.renews(t)); err != nil {
			t.Logf("restart %d: %v", n, err)
			survived = 0
			usual.end()
			short.end()
		} else {
			survived++
		}
	}
	if survived < survivals {
		t.Errorf("no leaders survived %d restarts in a row, of %d", survivals, restarts)
	}
}
