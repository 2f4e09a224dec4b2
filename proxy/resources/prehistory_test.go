package resources

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/cache"
	"sluice/cache/reflector"
	"sluice/proxy/wait"
)

// changes is a changesReader with the events after a version.
type changes struct {
	oldest uint64        // events after older versions have expired
	took   time.Duration // by each read
	events int           // that each read returns
	err    error
	reads  []uint64
}

// Changes implements changesReader.
func (c *changes) Changes(ctx context.Context, from, _ uint64, _ int) ([]cache.Change, error) {
	c.reads = append(c.reads, from)
	wait.Pause(ctx, c.took)
	switch {
	case c.err != nil:
		return nil, c.err
	case from < c.oldest:
		return nil, reflector.ErrExpired
	}
	return make([]cache.Change, c.events), ctx.Err()
}

func TestOneReadOfThePrehistoryServesAllWatchesThatComeBack(t *testing.T) {
	const until = 100
	for _, row := range []struct {
		name    string
		changes changes
		asked   []uint64
		known   []uint64 // of asked
		reads   []uint64
	}{
		{"one", changes{took: time.Second}, []uint64{50}, []uint64{50}, []uint64{50}},
		{"many", changes{took: time.Second}, []uint64{90, 50, 70}, []uint64{90, 50, 70}, []uint64{50}},
		{"expired for some", changes{oldest: 60}, []uint64{90, 50, 70, 95}, []uint64{90, 95}, []uint64{50, 90}},
		{"expired for all", changes{oldest: 99}, []uint64{50, 60, 70}, nil, []uint64{50, 70}},
		{"expired for most", changes{oldest: 60}, []uint64{90, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, []uint64{90}, []uint64{1, 10, 14, 16, 90}},
		{"unknown", changes{err: errors.New("unreachable")}, []uint64{50, 60}, nil, []uint64{50}},
		{"too many", changes{events: 1 << 20}, []uint64{50, 60, 70}, nil, []uint64{50, 70}},
		{"slow", changes{took: time.Minute}, []uint64{50}, nil, []uint64{50}},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var running sync.WaitGroup
				c := row.changes
				p := &prehistory{source: &c, store: cache.New(cache.Options{}, nil, until).Store, until: until, ctx: t.Context(), run: running.Go}
				got := make([]bool, len(row.asked))
				for i, version := range row.asked {
					running.Go(func() { got[i] = p.extend(t.Context(), version) })
				}
				running.Wait()
				var known []uint64
				for i, version := range row.asked {
					if got[i] {
						known = append(known, version)
					}
				}
				if diff := cmp.Diff([][]uint64{row.known, row.reads}, [][]uint64{known, c.reads}); diff != "" {
					t.Errorf("known and read (-want +got):\n%s", diff)
				}
				for _, version := range known {
					cursor, err := p.store.Watch(cache.Scope{}, version)
					if err != nil {
						t.Errorf("watch from %d: %v", version, err)
						continue
					}
					cursor.Close()
				}
				before := len(c.reads)
				for _, version := range known {
					if !p.extend(t.Context(), version) || len(c.reads) != before {
						t.Errorf("%d is read again: %v", version, c.reads)
					}
				}
			})
		})
	}
}

// Watches that come back while others are waited for find what the read for these has told.
func TestReadOfThePrehistoryKeepsWhatTheOneBeforeHasTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running sync.WaitGroup
		c := changes{took: time.Second}
		p := &prehistory{source: &c, store: cache.New(cache.Options{}, nil, 100).Store, until: 100, ctx: t.Context(), run: running.Go}
		extend := func(version uint64) {
			if !p.extend(t.Context(), version) {
				t.Errorf("%d is not known", version)
			}
		}
		running.Go(func() { extend(50) })
		time.Sleep(c.took / 2)
		running.Go(func() { extend(90) })
		running.Wait()
		extend(70)
		if diff := cmp.Diff([]uint64{50}, c.reads); diff != "" {
			t.Errorf("read (-want +got):\n%s", diff)
		}
	})
}

func TestCallerDoesNotWaitForThePrehistoryLongerThanItLikes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running sync.WaitGroup
		p := &prehistory{source: &changes{took: 2 * time.Second}, store: cache.New(cache.Options{}, nil, 100).Store, until: 100, ctx: t.Context(), run: running.Go}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		if p.extend(ctx, 50) || time.Since(start) != time.Second {
			t.Errorf("after %v", time.Since(start))
		}
		running.Wait()
		if !p.extend(t.Context(), 50) {
			t.Error("the read was in vain")
		}
	})
}
