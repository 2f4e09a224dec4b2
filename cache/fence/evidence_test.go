package fence

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"sluice/cache"
)

// The objects may be the same, and written in another history: etcd was restored from a backup, or the CRD has changed.
func TestAnAnswerFromBeforeTheStoreIsReportedAndNoProof(t *testing.T) {
	scope := cache.Scope{Namespace: "a"}
	for name, take := range map[string]func(ctx context.Context, a *fakeAPIServer, f *Fence) error{
		"probe": func(ctx context.Context, a *fakeAPIServer, f *Fence) error {
			a.inventoryTime = 0
			_, err := f.currentVersion(ctx)
			return err
		},
		"inventory instead of a probe": func(ctx context.Context, _ *fakeAPIServer, f *Fence) error {
			_, err := f.currentVersion(ctx)
			return err
		},
		"inventory of a scope": func(ctx context.Context, _ *fakeAPIServer, f *Fence) error {
			_, err := f.list(ctx, scope, 0)
			return err
		},
		"inventory of the resource": func(ctx context.Context, _ *fakeAPIServer, f *Fence) error {
			f.worker.claim(listing)
			_, err := f.takeInventory(ctx, time.Minute)
			return err
		},
		"inventory by another CRD": func(ctx context.Context, a *fakeAPIServer, f *Fence) error {
			f.apiserver = failing{a, fmt.Errorf("%w: its CRD has changed", cache.ErrDiverged)}
			_, err := f.list(ctx, cache.Scope{}, 0)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			withInventories(t, func(t *testing.T, a *fakeAPIServer, s *cache.Writer, f *Fence) {
				a.version = 7
				if err := take(t.Context(), a, f); !errors.Is(err, cache.ErrDiverged) || !errors.Is(a.reported(), cache.ErrDiverged) {
					t.Errorf("got %v, reported %v", err, a.reported())
				}
			})
		})
	}
}

// The reader of the newest state would wait for a proof that nobody takes.
func TestReaderOfAnOlderVersionDoesNotEndTheProofOfANewer(t *testing.T) {
	withFence(t, func(t *testing.T, a *fakeAPIServer, s *cache.Writer, f *Fence) {
		newer := f.enter(12)
		older := f.enter(10)
		if !f.unproven() {
			t.Error("version 12 counts as proven")
		}
		older()
		newer()
		if f.unproven() {
			t.Error("nobody waits")
		}
	})
}

// What a read needed when it began says nothing of the version that it names.
func TestAReadThatNamesAVersionIsNotProvenByAnOlderOne(t *testing.T) {
	withFence(t, func(t *testing.T, _ *fakeAPIServer, _ *cache.Writer, f *Fence) {
		if a, err := f.Prove(t.Context(), Need{Version: 12, Current: 10}); !errors.Is(err, cache.ErrAhead) {
			t.Errorf("proven at %d, %v", a.Version, err)
		}
	})
}

// A read that has waited in vain is tried again, with the version that it has learned. etcd may have been restored meanwhile.
func TestAReadThatIsTriedAgainIsNotProvenInDoubtByItsVersion(t *testing.T) {
	withFence(t, func(t *testing.T, _ *fakeAPIServer, s *cache.Writer, f *Fence) {
		s.Doubt()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if a, err := f.Prove(ctx, Need{Current: 10, Patient: true}); err == nil {
			t.Errorf("proven by %s", a.Proof)
		}
		s.Trust()
		if a, err := f.Prove(t.Context(), Need{Current: 10}); err != nil || a.Version != 10 {
			t.Errorf("proven at %d, %v", a.Version, err)
		}
	})
}

// A proof that somebody has waited for in vain must cost those who come later nothing.
func TestAReaderThatHasLeftLeavesNothingToProve(t *testing.T) {
	withInventories(t, func(t *testing.T, a *fakeAPIServer, _ *cache.Writer, f *Fence) {
		f.enter(20)()
		if _, err := f.confirm(t.Context(), a.writeElsewhere()); err != nil {
			t.Fatal(err)
		}
		if n := a.secondWatches.Load(); n != 0 {
			t.Errorf("%d second watches are opened for a version that nobody needs", n)
		}
	})
}

// The next probe may be answered: it is not the proofs that do not come.
func TestReadsStallOthersOnlyIfTheApiserverHasToldTheVersion(t *testing.T) {
	for late, want := range map[bool]bool{false: true, true: false} {
		withFence(t, func(t *testing.T, a *fakeAPIServer, _ *cache.Writer, f *Fence) {
			a.noBookmarks = true
			if a.writeElsewhere(); late {
				a.probeTime = time.Minute
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err := f.Prove(ctx, Need{}); !errors.Is(err, context.DeadlineExceeded) || stalled(f) != want {
				t.Errorf("late %v: stalled %v, %v", late, stalled(f), err)
			}
		})
	}
}
