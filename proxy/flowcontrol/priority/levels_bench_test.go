package priority

import (
	"net/http"
	"sync/atomic"
	"testing"
)

// BenchmarkTake takes and leaves one of 600 seats in the name of one of 10,000 users.
func BenchmarkTake(b *testing.B) {
	l := start(b, Options{Seats: 600})
	requests := make([]*http.Request, 10_000)
	for i := range requests {
		requests[i] = ask(b, userName(i), createPod)
	}
	b.ReportAllocs()
	b.ResetTimer()
	var next atomic.Int64
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			r := requests[next.Add(1)%int64(len(requests))]
			s, err := l.take(r.Context(), r)
			if err != nil {
				b.Error(err)
				return
			}
			s.leave()
		}
	})
}
