package reflector

import (
	"context"
	"fmt"
	"testing"

	"sluice/cache"
	"sluice/cache/tree"
)

// BenchmarkFill fills a store out of a streaming list. The time for each object grows with the
// logarithm of their number, since the index is sorted.
func BenchmarkFill(b *testing.B) {
	for _, n := range []int{25_000, 50_000, 100_000, 400_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			data := make([]byte, 5000) // which all objects share
			events := make([]Event, 0, n+1)
			for i := range n {
				events = append(events, Event{Type: cache.Added, Object: &tree.Object{
					Key: tree.Key(fmt.Sprintf("ns%04d/pod-%06d", i/1000, i)), RV: 1, Data: data,
					Fields: []string{tree.Intern(fmt.Sprint("node", i%5000))},
				}})
			}
			events = append(events, synced(2))
			r := New(&filler{events: events}, Options{
				Store: func() cache.Options { return cache.Options{Index: new(int)} }, Publish: func(*cache.Store) {},
			})
			for b.Loop() {
				if _, err := r.watchList(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/object")
		})
	}
}

// filler is a ListerWatcher whose streaming lists are all the same.
type filler struct {
	ListerWatcher
	events []Event
}

func (f *filler) WatchList(ctx context.Context) (Stream, error) {
	return &scriptStream{ctx: ctx, events: f.events}, nil
}
