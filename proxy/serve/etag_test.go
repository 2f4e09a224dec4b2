package serve

import "testing"

func TestIfNoneMatchComparesWeakly(t *testing.T) {
	const tag = `"a,b"`
	for value, want := range map[string]bool{
		``:                  false,
		`*`:                 true,
		` * `:               true,
		`"a,b"`:             true,
		`W/"a,b"`:           true,
		`w/"a,b"`:           false, // the prefix is case-sensitive
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
		if got := matchesETag([]string{value}, tag); got != want {
			t.Errorf("%s: %v", value, got)
		}
	}
	if !matchesETag([]string{`"x"`, `"y", "a,b"`}, tag) || matchesETag([]string{`"x"`, `*`}, tag) || matchesETag(nil, tag) {
		t.Error("every line of the header counts, and * only alone")
	}
}

func FuzzIfNoneMatch(f *testing.F) {
	f.Add(`W/"x", "y"`)
	f.Fuzz(func(t *testing.T, value string) { matchesETag([]string{value}, `"tag"`) })
}
