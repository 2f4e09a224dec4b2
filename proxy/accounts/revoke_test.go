package accounts

import (
	"fmt"
	"math"
	"testing"
)

// While a total is used up, what one more costs must not grow with the number of callers.
func BenchmarkTakeWhileScarce(b *testing.B) {
	for _, callers := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			l := New(Totals{Streams: int64(2 * callers)}, math.MaxInt64)
			for i := range callers {
				take(l.Account(ByUser(fmt.Sprint("user", i))), Streams, 1, func() {})
			}
			take(l.Account(ByUser("heavy")), Streams, callers, func() {})
			light := l.Account(ByUser("light"))
			for b.Loop() {
				g, err := light.TakeRevocable(Streams, 1, func() {})
				if err != nil {
					b.Fatal(err)
				}
				g.Release()
				take(l.Account(ByUser("heavy")), Streams, 1, func() {})
			}
		})
	}
}
