package priority

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"

	"sluice/cache/tree"
	"sluice/proxy/accounts"
	"sluice/proxy/request"
	"sluice/proxy/resources"
)

func TestOrdinaryUsersNeverTakeTheSeatsOfOtherLevels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := start(t, Options{Seats: 600})
		for n := range 2 {
			h := newHolder(t, l).take(ask(t, userName(n), createPod), 500)
			defer h.leaveAll()
		}
		for _, c := range []struct {
			level   string
			request *http.Request
		}{
			{"node-high", ask(t, "system:node:n1", updateLease, user.NodesGroup)},
			{"exempt", ask(t, "admin", createPod, user.SystemPrivilegedGroup)},
			{"leader-election", ask(t, "system:kube-scheduler", leaderLease)},
			{"workload-high", askServiceAccount(t, "kube-system", "deployment-controller", createPod)},
			{"workload-low", askServiceAccount(t, "default", "builder", createPod)},
		} {
			began := time.Now()
			s, err := l.take(t.Context(), c.request)
			if err != nil {
				t.Errorf("%s: %v", c.level, err)
				continue
			}
			if s.level != c.level || time.Since(began) != 0 {
				t.Errorf("got a seat of level %s after %v, want one of %s at once", s.level, time.Since(began), c.level)
			}
			s.leave()
		}
	})
}

func TestTakeWaitsForItsTimeAndThenRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := start(t, Options{Seats: 100, Wait: 7 * time.Second})
		newHolder(t, l).take(ask(t, "heavy", createPod), 50)
		r := ask(t, "other", createPod)
		began := time.Now()
		_, err := l.take(t.Context(), r)
		seconds, retry := apierrors.SuggestsClientDelay(err)
		if !apierrors.IsTooManyRequests(err) || !retry || seconds < 1 || time.Since(began) != 7*time.Second {
			t.Errorf("after %v: %v, retry after %d s", time.Since(began), err, seconds)
		}
	})
}

func TestTakeEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := start(t, Options{Seats: 100})
		h := newHolder(t, l).take(ask(t, "heavy", createPod), 50)
		before := h.has()
		for _, name := range []string{"heavy", "other"} {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			if _, err := l.take(ctx, ask(t, name, createPod)); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", name, err)
			}
		}
		h.leaveAll()
		if before == 0 || h.has() != 0 {
			t.Errorf("%d seats before, %d after", before, h.has())
		}
		nobody(t)
	})
}

func TestTakeBeforeRunEndsWithItsContext(t *testing.T) {
	l := New(Options{Seats: 10, Wait: time.Hour})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.take(ctx, ask(t, "user", createPod)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestLeaveCountsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := start(t, Options{Seats: 100})
		s, err := l.take(t.Context(), ask(t, "user", createPod))
		if err != nil {
			t.Fatal(err)
		}
		s.leave()
		s.leave()
		synctest.Wait()
		nobody(t)
	})
}

func TestQueuesAreAsLongAsTheLevelSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := start(t, Options{Seats: 100})
		synctest.Wait() // the library has lent seats for the first time
		h := newHolder(t, l).take(ask(t, "heavy", createPod), 400)
		// Hand size and queue length of the level global-default. A request is refused if the queue with the least work
		// is full, which it can be before the last of the hand is.
		const queue, hand = 50, 6
		refused := len(h.errs)
		if waiting := 400 - refused - h.has(); waiting > hand*queue || waiting <= (hand-1)*queue || !apierrors.IsTooManyRequests(h.errs[0]) {
			t.Errorf("%d have a seat, %d wait and %d are refused of 400", h.has(), waiting, refused)
		}
	})
}

func TestSeatsChangeWhileRequestsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := start(t, Options{Seats: 100})
		few := newHolder(t, l).take(ask(t, "user", createPod), 200)
		before, controller := few.has(), l.current.Load()
		l.Set(100, time.Minute)
		time.Sleep(time.Second)
		if l.current.Load() != controller {
			t.Error("the controller was replaced by an equal one")
		}
		l.Set(1000, time.Minute)
		time.Sleep(time.Second)
		many := newHolder(t, l).take(ask(t, "user", createPod), 200)
		if many.has() < 5*before {
			t.Errorf("%d seats of 100, %d of 1000", before, many.has())
		}
		few.leave(1)
		if few.has() != before {
			t.Errorf("%d requests have a seat when one of %d was given back", few.has(), before)
		}
		few.leaveAll()
		many.leaveAll()
		nobody(t)
	})
}

func manyPods() (pods []*tree.Object) {
	for n := range 10_000 {
		pods = append(pods, &tree.Object{Key: tree.KeyOf("ns", fmt.Sprintf("%05d", n)), RV: 1, Data: make([]byte, 10_000)[:10_000:10_000]})
	}
	return pods
}

func TestListsTakeSeatsByTheirSize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := start(t, Options{Seats: 600, Resources: sized{manyPods()}})
		lists := newHolder(t, l).take(ask(t, "user", listPods), 200)
		n := lists.has()
		lists.leaveAll()
		gets := newHolder(t, l).take(ask(t, "user", "GET /api/v1/namespaces/default/pods/p"), 200)
		if n == 0 || gets.has() < 5*n {
			t.Errorf("%d lists of 100 MiB at once, %d gets", n, gets.has())
		}
	})
}

func TestImpersonationGetsTheLevelOnceItIsAuthorized(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := start(t, Options{Seats: 600})
		r := ask(t, "user", createPod)
		r.Header.Set("Impersonate-User", "admin")
		r.Header.Set("Impersonate-Group", user.SystemPrivilegedGroup)
		info := request.From(r.Context())
		info.Impersonates = true
		for _, want := range []string{"global-default", "exempt"} {
			s, err := l.take(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			if s.level != want || s.account != accounts.ByUser("user") {
				t.Errorf("got level %s, want %s; counts for %v", s.level, want, s.account)
			}
			s.leave()
			info.Impersonated = &user.DefaultInfo{Name: "admin", Groups: []string{user.SystemPrivilegedGroup, user.AllAuthenticated}}
		}
	})
}

type panics struct{ sized }

func (panics) Peek(schema.GroupVersionResource) *resources.CachedResource { panic("objects") }

func TestPanicsReachTheGoroutineOfTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := start(t, Options{Seats: 600, Resources: panics{}})
		recovered := func() (got any) {
			defer func() { got = recover() }()
			_, err := l.take(t.Context(), ask(t, "user", listPods))
			return err
		}()
		if recovered != "objects" {
			t.Errorf("recovered %v", recovered)
		}
		newHolder(t, l).take(ask(t, "user", createPod), 1).leave(1)
		nobody(t)
	})
}
