package watch

import (
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sluice/proxy/accounts"
	"sluice/proxy/request"
	"sluice/proxy/response"
)

// slowAccess is an Access whose reviews take some time, and counts them.
type slowAccess struct {
	mu                  sync.Mutex
	takes               time.Duration
	err                 error
	running, most, made int
	of                  map[string]int // by the path
	listeners           []func()
}

// StillAllowed implements Access.
func (a *slowAccess) StillAllowed(r *http.Request, _ *request.Read) (*apierrors.StatusError, error) {
	a.mu.Lock()
	a.running++
	a.most = max(a.most, a.running)
	takes, err := a.takes, a.err
	a.mu.Unlock()
	time.Sleep(takes)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.running--
	a.made++
	if a.of == nil {
		a.of = map[string]int{}
	}
	a.of[r.URL.Path]++
	return nil, err
}

// Notify implements Access.
func (a *slowAccess) Notify(_ *http.Request, _ *request.Read, f func()) (stop func()) {
	a.listeners = append(a.listeners, f)
	return func() {}
}

// counts returns how many reviews ran at a time, and how many were made, since the last call.
func (a *slowAccess) counts() (most, made int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	most, made = a.most, a.made
	a.most, a.made = a.running, 0
	return most, made
}

const rechecksEvery = 30 * time.Second

// withRechecks runs a test with the rechecks of n watches, which counts those that end.
func withRechecks(t *testing.T, n int, test func(t *testing.T, a *slowAccess, ended *int)) {
	synctest.Test(t, func(t *testing.T) {
		a, ended := &slowAccess{takes: 10 * time.Millisecond}, 0
		s := &Server{Access: a}
		s.Set(rechecksEvery, false)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		for range n {
			client := response.NewWriteDeadline(nil)
			defer s.startRechecks(r, nil, client, func() { ended++ }).stop()
		}
		test(t, a, &ended)
	})
}

func TestRechecksTakeATenthOfTheTimeHoweverManyWatchesThereAre(t *testing.T) {
	withRechecks(t, 5000, func(t *testing.T, a *slowAccess, _ *int) {
		time.Sleep(rechecksEvery)
		a.counts()
		time.Sleep(time.Minute)
		if most, made := a.counts(); most != 1 || made < 590 || made > 601 {
			t.Errorf("%d at a time, %d reviews of 10 ms in a minute", most, made)
		}
	})
}

// Whoever has many watches, with reviews that differ, must not keep the revocation of others' from being noticed.
func TestWatchesOfOneUserAreRecheckedBesideThousandsOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &slowAccess{takes: 10 * time.Millisecond}
		s := &Server{Access: a}
		s.Set(rechecksEvery, false)
		open := func(user string) {
			info := &request.Info{Account: accounts.Account{Key: accounts.ByUser(user)}}
			r, err := http.NewRequestWithContext(request.With(t.Context(), info), http.MethodGet, "/"+user, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.startRechecks(r, nil, response.NewWriteDeadline(nil), func() {}).stop)
		}
		for range 10_000 {
			open("many")
		}
		open("one")
		open("another")
		time.Sleep(5 * rechecksEvery)
		a.mu.Lock()
		defer a.mu.Unlock()
		if one, another := a.of["/one"], a.of["/another"]; one < 4 || another < 4 {
			t.Errorf("%d and %d rechecks in %s", one, another, 5*rechecksEvery)
		}
	})
}

func TestFewWatchesAreRecheckedWithinTheirInterval(t *testing.T) {
	withRechecks(t, 100, func(t *testing.T, a *slowAccess, _ *int) {
		for range 3 {
			time.Sleep(rechecksEvery + 10*time.Second) // for the turns of all
			if _, made := a.counts(); made < 100 {
				t.Errorf("%d of 100 were rechecked", made)
			}
		}
	})
}

func TestAChangeOfAccessRulesRechecksManyAtATimeAndOthersGoOn(t *testing.T) {
	withRechecks(t, 5000, func(t *testing.T, a *slowAccess, _ *int) {
		time.Sleep(rechecksEvery)
		a.counts()
		for _, f := range a.listeners[:1600] {
			f()
			f() // another change
		}
		time.Sleep(2 * recheckSpread)
		if most, made := a.counts(); most != soonAtOnce+1 || made < 1600 || made > 1600+25 {
			t.Errorf("%d at a time, %d reviews in two seconds", most, made)
		}
	})
}

// A webhook that hangs for some callers must not keep the watches of all others from being checked.
func TestRecheckThatHangsKeepsNoOthersWaiting(t *testing.T) {
	withRechecks(t, 1000, func(t *testing.T, a *slowAccess, _ *int) {
		a.mu.Lock()
		a.takes = recheckLimit
		a.mu.Unlock()
		time.Sleep(rechecksEvery)
		a.counts()
		time.Sleep(time.Minute)
		if most, made := a.counts(); most > 12 || made < 50 {
			t.Errorf("%d at a time, %d in a minute", most, made)
		}
	})
}

// What waits long for its turn is not in doubt.
func TestWatchesStayThatWaitedLongForARecheckThatFails(t *testing.T) {
	withRechecks(t, 5000, func(t *testing.T, a *slowAccess, ended *int) {
		time.Sleep(doubtfulFor + rechecksEvery)
		a.mu.Lock()
		a.err = errors.New("unreachable")
		a.mu.Unlock()
		time.Sleep(rechecksEvery)
		a.mu.Lock()
		a.err = nil
		a.mu.Unlock()
		if time.Sleep(10 * time.Minute); *ended > 0 {
			t.Errorf("%d watches ended", *ended)
		}
	})
}

// Watches that were opened together must not ask the apiserver together.
func TestRechecksAreSpreadWithinTheirInterval(t *testing.T) {
	s := &Server{}
	s.Set(time.Minute, false)
	a := &accessRecheck{server: s}
	least, most := time.Hour, time.Duration(0)
	for range 1000 {
		wait := a.wait()
		least, most = min(least, wait), max(most, wait)
	}
	if least < 30*time.Second || most > time.Minute || most-least < 15*time.Second {
		t.Errorf("waits from %v to %v", least, most)
	}
}
