package cache

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/cache/tree"
	"sluice/test/harness"
)

// filled returns a store of n objects of 4 KB, one hundred per namespace.
func filled(n int) *Writer {
	field := 0
	data := make([]byte, 4000)
	objects := make([]*tree.Object, n)
	for i := range objects {
		objects[i] = &tree.Object{
			Key: tree.Key(fmt.Sprintf("ns%06d/pod%02d", i/100, i%100)), RV: 1, Data: data,
			Labels: []tree.Label{{Key: tree.Intern("app"), Value: tree.Intern(fmt.Sprintf("app%d", i%50))}},
			Fields: []string{tree.Intern(fmt.Sprintf("node%d", i%500))},
		}
	}
	return New(Options{Index: &field, HistoryBytes: 16 << 20}, objects, 10)
}

var sizes = []int{10_000, 100_000, 1_000_000}

// BenchmarkApply shows that the cost of an event grows with the logarithm of the number of objects.
func BenchmarkApply(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := filled(n)
			now := time.Now()
			rv := uint64(10)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				rv++
				old := s.Snapshot().Get(tree.Key(fmt.Sprintf("ns%06d/pod%02d", (i*7919)%n/100, i%100)))
				o := &tree.Object{Key: old.Key, RV: rv, Data: old.Data, Labels: old.Labels, Fields: old.Fields}
				if err := s.Apply(Modified, o, now); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkList(b *testing.B) {
	for _, n := range sizes {
		s := filled(n).Snapshot()
		scan := func(b *testing.B, objects func(yield func(*tree.Object) bool)) {
			b.ReportAllocs()
			count := 0
			for b.Loop() {
				for range objects {
					count++
				}
			}
			b.ReportMetric(float64(count)/float64(b.N), "objects/op")
		}
		b.Run(fmt.Sprintf("whole/%d", n), func(b *testing.B) { scan(b, s.Objects(tree.Range{})) })
		b.Run(fmt.Sprintf("namespace/%d", n), func(b *testing.B) { scan(b, s.Objects(tree.Namespace("ns000042"))) })
		b.Run(fmt.Sprintf("node/%d", n), func(b *testing.B) { scan(b, s.ByIndex("node42", tree.Range{})) })
		b.Run(fmt.Sprintf("label/%d", n), func(b *testing.B) {
			scan(b, func(yield func(*tree.Object) bool) {
				for o := range s.Objects(tree.Range{}) {
					if v, _ := o.Label("app"); v == "app42" && !yield(o) {
						return
					}
				}
			})
		})
		b.Run(fmt.Sprintf("count/%d", n), func(b *testing.B) {
			for b.Loop() {
				s.Count(tree.Namespace("ns000042"))
			}
		})
	}
}

// BenchmarkMemory measures the memory of an object without its data, and of an open cursor.
func BenchmarkMemory(b *testing.B) {
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	b.Run("object", func(b *testing.B) {
		const n = 100_000
		for b.Loop() {
			before := heap()
			s := filled(n)
			b.ReportMetric(float64(heap()-before)/n, "B/object")
			runtime.KeepAlive(s)
		}
	})
	b.Run("cursor", func(b *testing.B) {
		const n = 100_000
		s := filled(1000)
		for b.Loop() {
			before := heap()
			cursors := make([]*Cursor, n)
			for i := range cursors {
				cursors[i], _ = s.Watch(Scope{Key: tree.Key(fmt.Sprint("a/", i))}, 10)
				cursors[i].Ready()
			}
			b.ReportMetric(float64(heap()-before)/n, "B/cursor")
			for _, c := range cursors {
				c.Close()
			}
		}
	})
}

// BenchmarkFanOut measures Apply with many cursors of one object each: an event must cost the same.
func BenchmarkFanOut(b *testing.B) {
	for _, watches := range []int{0, 1000, 10_000} {
		b.Run(fmt.Sprintf("scoped/%d", watches), func(b *testing.B) {
			s := filled(10_000)
			for i := range watches {
				c, _ := s.Watch(Scope{Key: tree.KeyOf(fmt.Sprintf("ns%06d", i/100), fmt.Sprintf("pod%02d", i%100))}, 10)
				c.Ready()
				defer c.Close()
			}
			rv := uint64(10)
			o := s.Snapshot().Get("ns000001/pod01")
			b.ReportAllocs()
			for b.Loop() {
				rv++
				next := &tree.Object{Key: o.Key, RV: rv, Data: o.Data, Labels: o.Labels, Fields: o.Fields}
				if err := s.Apply(Modified, next, time.Now()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkHistory applies five minutes of 400 updates of pods a second, and resumes 1,000 watches of one node each from four minutes
// ago.
func BenchmarkHistory(b *testing.B) {
	const rate, limit = 400, 64 << 20
	pods := harness.Pods(10_000, "default", 1)
	field := 0
	object := func(i, version int) *tree.Object {
		p := pods[i]
		p.ResourceVersion = fmt.Sprint(version)
		p.ManagedFields[0].Time.Time = time.Unix(int64(version/rate), 0)
		p.Status.Conditions[0].LastTransitionTime.Time = time.Unix(int64(version/rate), 0)
		data, err := p.Marshal()
		if err != nil {
			b.Fatal(err)
		}
		o := &tree.Object{Key: tree.KeyOf(p.Namespace, p.Name), RV: uint64(version), Data: data, Fields: []string{tree.Intern(fmt.Sprintf("node-%d", i%1000))}}
		for key, value := range p.Labels {
			o.Labels = append(o.Labels, tree.Label{Key: tree.Intern(key), Value: tree.Intern(value)})
		}
		slices.SortFunc(o.Labels, func(a, b tree.Label) int { return strings.Compare(a.Key, b.Key) })
		return o
	}
	var objects []*tree.Object
	for i := range pods {
		objects = append(objects, object(i, 1))
	}
	slices.SortFunc(objects, func(a, b *tree.Object) int { return strings.Compare(string(a.Key), string(b.Key)) })
	s := New(Options{Index: &field, HistoryBytes: limit, HistoryAge: 5 * time.Minute}, objects, 10)
	var applying time.Duration
	var bytes int64
	const events = 330 * rate
	for i := range events {
		version := 10_000 + i
		o := object(i*7919%len(pods), version)
		bytes += int64(len(o.Data))
		start := time.Now()
		if err := s.Apply(Modified, o, time.Unix(0, int64(version)*int64(time.Second)/rate)); err != nil {
			b.Fatal(err)
		}
		applying += time.Since(start)
	}
	newest := int64(10_000 + events - 1)
	age := time.Duration(newest-int64(s.OldestVersion())) * time.Second / rate
	for b.Loop() {
		var watches sync.WaitGroup
		var resumed atomic.Int64
		for w := range 1000 {
			watches.Go(func() {
				c, err := s.Watch(Scope{Indexed: true, Value: fmt.Sprintf("node-%d", w)}, uint64(newest)-240*rate)
				if err != nil {
					b.Error(err)
					return
				}
				defer c.Close()
				buffer := make([]*Event, 64)
				for n := 1; n > 0; resumed.Add(int64(n)) {
					if n, _, err = c.Next(buffer); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		watches.Wait()
		b.ReportMetric(float64(resumed.Load()), "events/op")
	}
	b.ReportMetric(age.Seconds(), "s-of-history")
	b.ReportMetric(float64(s.Stats().HistoryBytes)/(1<<20), "MiB")
	b.ReportMetric(float64(s.history.all.events.n), "states")
	b.ReportMetric(float64(bytes)/events, "bytes/event")
	b.ReportMetric(applying.Seconds()/(float64(events)/rate)*100, "%-of-a-core")
}
