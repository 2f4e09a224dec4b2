package proxy

import (
	"testing"

	"sluice/config"
	"sluice/proxy/accounts"
)

// TestTotalsAreThoseOfTheTable reads the column of totals in docs/security.md, for a machine that is not tiny.
func TestTotalsAreThoseOfTheTable(t *testing.T) {
	type given struct {
		l config.Limits
		m accounts.Machine
	}
	words := map[string]func(given) int64{
		"a sixteenth of the descriptors, and what `connections` leaves": func(g given) int64 { return g.m.Descriptors / 16 },
		"an eighth of the descriptors, at most 2,048":                   func(g given) int64 { return min(g.m.Descriptors/8, 2048) },
		"`limits.connections`, or 5/8 of the descriptors": func(g given) int64 {
			if g.l.Connections > 0 {
				return int64(g.l.Connections)
			}
			return g.m.Descriptors / 8 * 5
		},
		"1/16 of the memory, at most 64 MiB": func(g given) int64 { return min(g.m.Memory/16, 64<<20) },
		"half of the memory":                 func(g given) int64 { return g.m.Memory / 2 },
		"a quarter of the memory":            func(g given) int64 { return g.m.Memory / 4 },
		"`limits.upstreamStreams`, at most 1/4 of the descriptors, or 1/8 of them": func(g given) int64 {
			if g.l.UpstreamStreams > 0 {
				return min(int64(g.l.UpstreamStreams), g.m.Descriptors/4)
			}
			return g.m.Descriptors / 8
		},
	}
	file := &config.File{}
	file.Default()
	set := file.Limits
	set.Connections, set.UpstreamStreams = 1000, 100
	many := set
	many.UpstreamStreams = 10_000
	for _, l := range []config.Limits{file.Limits, set, many} {
		for _, m := range []accounts.Machine{{Memory: 512 << 20, Descriptors: 4096}, {Memory: 64 << 30, Descriptors: 1 << 20}} {
			totals := Totals(&l, m)
			for _, r := range accounts.All() {
				total := words[r.Row().Total]
				if total == nil {
					t.Fatalf("%s: the test does not know the total %q", r, r.Row().Total)
				}
				if want := total(given{l, m}); totals[r] != want {
					t.Errorf("%+v: there are %d %s, and the table says %s: %d", m, totals[r], r, r.Row().Total, want)
				}
			}
		}
	}
}
