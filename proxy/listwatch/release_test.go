package listwatch

import (
	"net/http"
	"testing"
	"time"

	"sluice/codec"
	"sluice/test/support/fake"
)

// An apiserver of a newer release may print objects with other fields, without an event.
func TestNewerReleaseRebuildsTheStore(t *testing.T) {
	d := fake.ConfigMaps
	emulating := func(minor string) http.HandlerFunc {
		return fake.Body(codec.MediaJSON, []byte(`{"gitVersion":"v1.36.3","emulationMajor":"1","emulationMinor":"`+minor+`"}`))
	}
	for _, row := range []struct {
		name        string
		before, now http.HandlerFunc
		rebuilt     bool
	}{
		{"newer", fake.Release("v1.35.9"), fake.Release("v1.36.0"), true},
		{"newer patch", fake.Release("v1.36.0"), fake.Release("v1.36.1"), true},
		{"emulates a newer one", emulating("35"), emulating("36"), true},
		{"the same", emulating("35"), emulating("35"), false},
		{"older", fake.Release("v1.36.0"), fake.Release("v1.35.9"), false},
		{"unknown before", fake.Refuse(http.StatusForbidden), fake.Release("v1.36.0"), false},
		{"unknown now", fake.Release("v1.36.0"), fake.Refuse(http.StatusForbidden), false},
		{"unreadable", fake.Release("v1.36.0"), fake.Release("new"), false},
	} {
		t.Run(row.name, func(t *testing.T) {
			steps := []step{
				{"version", row.before},
				{"watchlist", d.EndedAfter(time.Minute, d.Added("a/x@3"), d.InitialEventsEnd("10"))},
				{"watch 10", d.Stream(d.Bookmark("11"))},
				{"version", row.now},
			}
			version := uint64(11)
			if row.rebuilt {
				steps = append(steps, step{"watchlist", d.Stream(d.Added("a/x@3"), d.InitialEventsEnd("20"))})
				version = 20
			}
			run(t, d, steps, func(t *testing.T, e *env) {
				e.checkAfter(t, 2*time.Minute, version, "a/x")
			})
		})
	}
}
