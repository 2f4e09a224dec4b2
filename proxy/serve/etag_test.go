package serve

import "testing"

func TestHolds(t *testing.T) {
	const tag = `"a,b"`
	for value, want := range map[string]bool{
		``:                  false,
		`*`:                 true,
		` * `:               true,
		`"a,b"`:             true,
		`W/"a,b"`:           true,
		`w/"a,b"`:           false, // its case counts
		`"x", "a,b"`:        true,
		`"x","y" ,W/"a,b",`: true,
		",\t\"a,b\"":        true,
		`"a"`:               false,
		`"a,b`:              false,
		`a,b`:               false,
		`"A,B"`:             false,
		`"x" "a,b"`:         true,
		`x, "a,b"`:          false,
		`"x, *, y"`:         false,
		`"x", *`:            false,
		`""`:                false,
		`"a,b"x`:            true,
		`W/W/"a,b"`:         false,
	} {
		if got := holds([]string{value}, tag); got != want {
			t.Errorf("%s: %v", value, got)
		}
	}
	if !holds([]string{`"x"`, `"y", "a,b"`}, tag) || holds([]string{`"x"`, `*`}, tag) || holds(nil, tag) {
		t.Error("of several lines each counts, and * only alone")
	}
}

func FuzzHolds(f *testing.F) {
	f.Add(`W/"x", "y"`)
	f.Fuzz(func(t *testing.T, value string) { holds([]string{value}, `"tag"`) })
}
