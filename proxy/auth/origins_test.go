package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/proxy/request"
	"sluice/proxy/wait"
)

// asked counts questions about origins. Those that begin with "ok" are allowed.
type asked struct {
	access *Access
	takes  time.Duration

	mu               sync.Mutex // guards what follows
	total, now, most int
	broken           bool
}

func newAsked(access *Access, takes time.Duration) *asked {
	a := &asked{access: access, takes: takes}
	access.Authorizer.options.CORS = a.cors
	return a
}

func (a *asked) cors(ctx context.Context, origin string) (http.Header, error) {
	a.count(1)
	defer a.count(-1)
	if wait.Pause(ctx, a.takes); ctx.Err() != nil {
		return nil, ctx.Err()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.broken:
		return nil, errors.New("unreachable")
	case strings.HasPrefix(origin, "ok"):
		return http.Header{"Access-Control-Allow-Origin": {origin}}, nil
	}
	return http.Header{}, nil
}

func (a *asked) count(more int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.now += more
	a.total, a.most = a.total+max(more, 0), max(a.most, a.now)
}

func (a *asked) breaks(broken bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.broken = broken
}

// of returns the value of Access-Control-Allow-Origin for an origin, or "error".
func (a *asked) of(user, origin string) string {
	r := newRequest("/api/v1/pods", http.Header{"Origin": {origin, "ok.second"}})
	info := request.From(r.Context())
	info.User = user
	if err := a.access.AllowOrigin(r); err != nil {
		return "error"
	}
	return info.CORS.Get("Access-Control-Allow-Origin")
}

func TestAnOriginIsAskedAboutOnceAMinute(t *testing.T) {
	run(t, nil, func(t *testing.T, _ *reviewAPI, access *Access) {
		for _, origin := range []string{"ok.io", "no.io"} {
			a, want := newAsked(access, 100*time.Millisecond), map[string]string{"ok.io": "ok.io"}[origin]
			for range 2 {
				var readers sync.WaitGroup
				for range 100 {
					readers.Go(func() {
						if got := a.of("jane", origin); got != want {
							t.Errorf("%s: %q", origin, got)
						}
					})
				}
				readers.Wait()
			}
			time.Sleep(originTTL)
			a.of("jane", origin)
			if a.total != 2 {
				t.Errorf("%s: asked %d times", origin, a.total)
			}
		}
	})
}

func TestAnOriginThatCannotBeAskedAboutIsAnError(t *testing.T) {
	run(t, nil, func(t *testing.T, _ *reviewAPI, access *Access) {
		a := newAsked(access, 0)
		a.of("jane", "ok.known")
		a.breaks(true)
		for origin, want := range map[string]string{"ok.known": "ok.known", "ok.new": "error", "no.new": "error"} {
			if got := a.of("jane", origin); got != want {
				t.Errorf("%s: %q", origin, got)
			}
		}
		time.Sleep(originTTL) // what was allowed counts for one more
		if got := a.of("jane", "ok.known"); got != "ok.known" {
			t.Errorf("after a minute: %q", got)
		}
		time.Sleep(originTTL)
		if got := a.of("jane", "ok.known"); got != "error" {
			t.Errorf("after two minutes: %q", got)
		}
		a.breaks(false)
		if got := a.of("jane", "no.new"); got != "" {
			t.Errorf("once it answers: %q", got)
		}
	})
}

// An attacker with ever new origins asks few questions at a time, and others do not wait for all of them, whether the
// apiserver allows these origins or not.
func TestEverNewOriginsLeavePlacesToOthers(t *testing.T) {
	for _, prefix := range []string{"no", "ok"} {
		run(t, nil, func(t *testing.T, _ *reviewAPI, access *Access) { testEverNewOrigins(t, access, prefix) })
	}
}

func testEverNewOrigins(t *testing.T, access *Access, prefix string) {
	a := newAsked(access, 0)
	for i := range 1000 {
		a.of("mallory", fmt.Sprint(prefix, i))
	}
	a.takes, a.total, a.most = time.Second, 0, 0
	time.Sleep(originTTL)
	ctx, stop := context.WithCancel(t.Context())
	var flood sync.WaitGroup
	for i := range 1000 {
		flood.Go(func() {
			if ctx.Err() == nil {
				a.of("mallory", fmt.Sprint(prefix, i))
			}
		})
	}
	synctest.Wait()
	begin := time.Now()
	if got := a.of("jane", "ok.io"); got != "ok.io" || time.Since(begin) > 2*time.Second {
		t.Errorf("%q after %v", got, time.Since(begin))
	}
	stop()
	flood.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.most > reviewsInFlight/2 {
		t.Errorf("%d questions at the same time", a.most)
	}
}

func TestALongOriginIsNotAskedAbout(t *testing.T) {
	run(t, nil, func(t *testing.T, _ *reviewAPI, access *Access) {
		a := newAsked(access, 0)
		if got := a.of("jane", "ok"+strings.Repeat("a", maxOrigin)); got != "error" || a.total != 0 {
			t.Errorf("%q, asked %d times", got, a.total)
		}
	})
}

func TestNothingIsAskedWithoutAnOrigin(t *testing.T) {
	run(t, nil, func(t *testing.T, _ *reviewAPI, access *Access) {
		access.Authorizer.options.CORS = func(context.Context, string) (http.Header, error) {
			t.Error("asked")
			return nil, nil
		}
		r := newRequest("/api/v1/pods", nil)
		if err := access.AllowOrigin(r); err != nil || request.From(r.Context()).CORS != nil {
			t.Error(err)
		}
	})
}
