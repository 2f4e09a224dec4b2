package priority

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"

	"sluice/proxy/request"
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
			s, err := l.Take(t.Context(), c.request)
			if err != nil {
				t.Errorf("%s: %v", c.level, err)
				continue
			}
			if s.Level != c.level || time.Since(began) != 0 {
				t.Errorf("got a seat of level %s after %v, want one of %s at once", s.Level, time.Since(began), c.level)
			}
			s.Leave()
		}
	})
}

func TestTakeWaitsForItsTimeAndThenRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := start(t, Options{Seats: 100, Wait: 7 * time.Second})
		newHolder(t, l).take(ask(t, "heavy", createPod), 50)
		r := ask(t, "other", createPod)
		began := time.Now()
		_, err := l.Take(t.Context(), r)
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
		for _, name := range []string{"heavy", "other"} { // one waits in front, the other in a queue
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			if _, err := l.Take(ctx, ask(t, name, createPod)); !errors.Is(err, context.Canceled) {
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
	if _, err := l.Take(ctx, ask(t, "user", createPod)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestLeaveCountsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := start(t, Options{Seats: 100})
		s, err := l.Take(t.Context(), ask(t, "user", createPod))
		if err != nil {
			t.Fatal(err)
		}
		s.Leave()
		s.Leave()
		synctest.Wait()
		nobody(t)
	})
}

func TestQueuesAreAsLongAsTheLevelSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := start(t, Options{Seats: 100})
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
		l.SetSeats(100)
		time.Sleep(time.Second)
		if l.current.Load() != controller {
			t.Error("the controller was replaced by an equal one")
		}
		l.SetSeats(1000)
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

func TestListsTakeSeatsByTheirSize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := start(t, Options{Seats: 600, Objects: func(r schema.GroupVersionResource) (int64, int64, bool) {
			return 10_000, 100 << 20, r == schema.GroupVersionResource{Version: "v1", Resource: "pods"}
		}})
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
			s, err := l.Take(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			if s.Level != want {
				t.Errorf("got level %s, want %s", s.Level, want)
			}
			s.Leave()
			info.Impersonated = &user.DefaultInfo{Name: "admin", Groups: []string{user.SystemPrivilegedGroup, user.AllAuthenticated}}
		}
		if got := callerOf(r).account; got != (account{"user", "user"}) {
			t.Errorf("counts for %v, not for the holder of the credentials", got)
		}
	})
}

func TestPanicsReachTheGoroutineOfTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := start(t, Options{Seats: 600, Objects: func(schema.GroupVersionResource) (int64, int64, bool) { panic("objects") }})
		recovered := func() (got any) {
			defer func() { got = recover() }()
			_, err := l.Take(t.Context(), ask(t, "user", listPods))
			return err
		}()
		if recovered != "objects" {
			t.Errorf("recovered %v", recovered)
		}
		newHolder(t, l).take(ask(t, "user", createPod), 1).leave(1)
		nobody(t)
	})
}
