package fence

import (
	"context"
	"testing"
	"time"

	"sluice/cache"
)

// Its objects may be in another form than the apiserver's, which no version and no inventory shows.
func TestNothingProvesAProvisionalStore(t *testing.T) {
	const limit, ends = 3 * time.Second, 8 * time.Second
	for _, row := range []struct {
		law   string
		need  Need
		pass  bool
		waits time.Duration // with a context that ends after limit
	}{
		{"ASmallReadPasses", Need{Small: true, MayPass: func() bool { return true }}, true, 0},
		{"ASmallReadWithoutRoomIsRefused", Need{Small: true, MayPass: func() bool { return false }}, false, 0},
		{"AGetPasses", Need{Get: true, MayPass: func() bool { return true }}, true, 0},
		{"ALongReadIsRefused", Need{Bytes: 1 << 30}, false, 0},
		{"AReadThatKnowsItsVersionIsRefused", Need{Current: 10, Bytes: 1 << 30}, false, 0},
		{"AReadOfAVersionThatIsReachedIsRefused", Need{Version: 10, Bytes: 1 << 30}, false, 0},
		{"AReadOfExactlyAVersionIsRefused", Need{What: Exactly, Version: 10}, false, 0},
		{"APatientReadWaits", Need{Patient: true}, false, limit},
		{"AReadOfAScopeWaits", Need{Patient: true, Small: true, Scope: &cache.Scope{Namespace: "a"}}, false, limit},
		{"ASecondWatchWaits", Need{What: History}, false, limit},
		{"AReadAtAnyPriceWaits", Need{AtAnyPrice: true}, false, limit},
	} {
		t.Run(row.law, func(t *testing.T) {
			withInventories(t, func(t *testing.T, a *fakeAPIServer, s *cache.Store, f *Fence) {
				f.Provisional = true
				ask := func(limit time.Duration) (passes bool, took time.Duration) {
					ctx, cancel := context.WithTimeout(t.Context(), limit)
					defer cancel()
					start := time.Now()
					_, err := f.Prove(ctx, row.need)
					if err == nil {
						t.Error("it is proven")
					}
					pass, passes := err.(Pass)
					if passes {
						pass.End()
					}
					return passes, time.Since(start)
				}
				if passes, took := ask(limit); passes != row.pass || took != row.waits {
					t.Errorf("passes: %v, after %v", passes, took)
				}
				time.AfterFunc(ends, s.Close)
				if _, took := ask(time.Hour); took != 0 && took != ends {
					t.Errorf("waits %v for the end of the store", took)
				}
				if n := a.probes.Load() + a.inventories.Load() + a.secondWatches.Load(); n > 0 {
					t.Errorf("%d requests", n)
				}
			})
		})
	}
	withFence(t, func(t *testing.T, a *fakeAPIServer, s *cache.Store, f *Fence) {
		f.Provisional = true
		if answer, err := f.Prove(t.Context(), Need{What: Version}); err != nil || answer.Version != 10 {
			t.Errorf("the version is %d, %v", answer.Version, err)
		}
	})
}
