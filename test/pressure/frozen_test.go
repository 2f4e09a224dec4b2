package pressure

import (
	"strings"
	"testing"

	"sluice/test/harness"
)

const (
	objects, objectSize = 200, 50_000 // ten megabytes
	listBytes           = objects * objectSize
	// listPages is how many pages a list of Sluice's own has: the first has 50 objects, the others about 4 MiB.
	listPages = 1 + (listBytes-50*objectSize+4<<20-1)/(4<<20)
	// fewPlaces let two lists of all objects pass at a time, and another one of a system caller.
	fewPlaces = "apiVersion: sluice/v1alpha1\nkind: Configuration\nlimits:\n  seats: 8\n"
)

// The watch of the store delivers nothing, so that nothing proves what the store shows. Of the clients that
// list everything then, few pass; a roll call, or a list of Sluice's own, serves the others.
func TestReadersOfFrozenEventsShareOneList(t *testing.T) {
	const clients = 40
	path := createConfigMaps(t, objects, objectSize)
	r := startSluice(t)
	r.WaitForCacheSync(t, configMaps, "configmaps.v1")
	readAll(t, r, 1, 0, "")
	r.freeze()
	for _, row := range []struct {
		name   string
		object string // that the store lacks
		lists  int    // of Sluice's own, in pages
		passed int    // at most
	}{
		{"TheSameObjects", "", 0, 2},
		{"OneMoreObject", "unseen", listPages, 8},
	} {
		t.Run(row.name, func(t *testing.T) {
			version := write(t, "/api/v1/namespaces/default/secrets", "other-"+strings.ToLower(row.name))
			if row.object != "" {
				version = write(t, path, row.object)
			}
			r.counts()
			a := readAll(t, r, clients, version, row.object)
			c := r.counts()
			t.Logf("%v; %v", c, a)
			if c.passed.requests > row.passed || c.passed.peak > 2 || c.passed.bytes > int64(row.passed*(listBytes+listBytes/10)) {
				t.Errorf("%+v passed, want %d at most, 2 at the same time", c.passed, row.passed)
			}
			if c.listed.requests > row.lists {
				t.Errorf("Sluice lists %+v, want %d requests", c.listed, row.lists)
			}
			if c.rolls > 10 {
				t.Errorf("the roll is called %d times", c.rolls)
			}
		})
	}
	r.thaw()
	version := write(t, path, "after")
	harness.Eventually(t, "the cache serves again", func() error {
		return readAll(t, r, 1, version, "after").onlyServed()
	})
}
