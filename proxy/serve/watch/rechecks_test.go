package watch

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sluice/proxy/limits"
	"sluice/proxy/request"
	"sluice/proxy/response"
)

// slowAccess is an Access whose reviews take some time, and counts them.
type slowAccess struct {
	mu                  sync.Mutex
	takes               time.Duration
	err                 error
	running, most, made int
	listeners           []func()
}

// StillAllowed implements Access.
func (a *slowAccess) StillAllowed(*http.Request, *request.Read) (*apierrors.StatusError, error) {
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
	return nil, err
}

// Notify implements Access.
func (a *slowAccess) Notify(f func()) (stop func()) {
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

// watches are those of a user whose reviews take some time.
type watches struct {
	user  string
	n     int
	takes time.Duration
}

// usersAccess is an Access whose reviews take as long as the user's, and counts those of each watch.
type usersAccess struct {
	slowAccess
	takes map[string]time.Duration // by user
	of    map[string]map[string]int
}

// StillAllowed implements Access.
func (a *usersAccess) StillAllowed(r *http.Request, _ *request.Read) (*apierrors.StatusError, error) {
	user, watch := r.URL.Path[1:], r.URL.RawQuery
	time.Sleep(a.takes[user])
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of[user] == nil {
		a.of[user] = map[string]int{}
	}
	a.of[user][watch]++
	return nil, nil
}

// A user must not delay the end of others' revoked watches by more than its watches' turns: not by slow reviews, and after a
// change of access rules not by many either.
func TestRechecksOfOthersAreWaitedForOnceEach(t *testing.T) {
	const quick = 2 * time.Millisecond // 50 a second from time to time, with the pauses
	nodes := make([]watches, 500)
	for i := range nodes {
		nodes[i] = watches{fmt.Sprint("node", i), 30, quick}
	}
	for _, tt := range []struct {
		name    string
		victim  watches
		others  []watches
		changed bool // the access rules of all
		within  time.Duration
	}{
		{"one beside thousands", watches{"one", 1, quick}, []watches{{"many", 10_000, quick}}, false, rechecksEvery + 10_001*10*quick},
		{"a thousand beside many users", watches{"agents", 1000, quick}, nodes, false, rechecksEvery + 16_000*10*quick},
		{"quick ones beside slow ones", watches{"agents", 1000, quick}, []watches{{"slow", 40, 2 * time.Second}}, false, 3 * time.Minute},
		{"after a change", watches{"agents", 500, quick}, []watches{{"hangs", 500, recheckLimit}}, true, recheckSpread + time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &usersAccess{takes: map[string]time.Duration{}, of: map[string]map[string]int{}}
				s := &Server{Access: a}
				s.Set(rechecksEvery, false)
				all := append(tt.others, tt.victim)
				for _, w := range all {
					a.takes[w.user] = w.takes
				}
				for _, w := range all {
					for i := range w.n {
						account := limits.Account{Caller: limits.Caller{Group: "user:" + w.user}}
						info := &request.Info{Identity: request.Identity{Account: account}}
						r, err := http.NewRequestWithContext(
							request.With(t.Context(), info), http.MethodGet, fmt.Sprintf("/%s?%d", w.user, i), http.NoBody)
						if err != nil {
							t.Fatal(err)
						}
						t.Cleanup(s.startRechecks(r, nil, response.NewWriteDeadline(nil), func() {}).stop)
					}
				}
				if tt.changed {
					for _, f := range a.listeners {
						f()
					}
				}
				time.Sleep(tt.within)
				a.mu.Lock()
				defer a.mu.Unlock()
				if n := len(a.of[tt.victim.user]); n < tt.victim.n {
					t.Errorf("%d of %d watches were rechecked within %s", n, tt.victim.n, tt.within)
				}
			})
		})
	}
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
		if most, made := a.counts(); most < 12 || most > soonAtOnce || made < 1600 || made > 1600+25 {
			t.Errorf("%d at a time, %d reviews in two seconds", most, made)
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
