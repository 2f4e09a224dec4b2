package accounts

import (
	"math"
	"strings"
	"testing"
)

// TestEachResourceIsTakenBackAsItsRowSays holds for every row of the table, and for those that will be added.
func TestEachResourceIsTakenBackAsItsRowSays(t *testing.T) {
	for _, r := range All() {
		l := New(of(r, 8), math.MaxInt64)
		var grants []*Grant
		for range 8 {
			g, err := l.Account(ByUser("heavy")).TakeRevocable(r, 1, func() {})
			if err != nil {
				t.Fatalf("%s: one caller may not hold all: %v", r, err)
			}
			grants = append(grants, g)
		}
		if _, err := l.Account(ByUser("light")).TakeRevocable(r, 1, func() {}); err != nil {
			t.Errorf("%s: a lighter account gets nothing: %v", r, err)
		}
		if oldest := strings.Contains(r.Row().Scarce, "oldest"); grants[0].Ended() != oldest || grants[7].Ended() == oldest {
			t.Errorf("%s: the oldest has ended: %v; the table says %q", r, grants[0].Ended(), r.Row().Scarce)
		}
		alone := New(of(r, 8), math.MaxInt64).Account(ByUser("alone"))
		if n := take(alone, r, 8, nil); n != 6 {
			t.Errorf("%s: one account has %d of 8 for good, not three times what is free", r, n)
		}
	}
}
