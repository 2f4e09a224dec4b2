package listwatch

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"sluice/cache"
	"sluice/codec"
	"sluice/proxy/discovery"
	"sluice/test/support/fake"
)

// watched is how long a watch lasts that ends before its timeout.
const watched = 2 * time.Minute

// Only the end of its watch shows that the CRD has changed.
func TestEarlyEndOfAWatchRebuildsTheStoreIfTheCRDCannotBeRead(t *testing.T) {
	d := fake.Widgets
	steps := []step{
		{"crd", fake.Refuse(http.StatusForbidden)},
		{"watchlist", d.EndedAfter(watched, d.Added("a/x@3"), d.InitialEventsEnd("10"))},
		{"crd", fake.Refuse(http.StatusForbidden)},
		{"watchlist", d.Stream(d.Added("a/x@3"), d.InitialEventsEnd("20"))},
	}
	run(t, d, steps, func(t *testing.T, e *env) {
		pass(watched + time.Minute)
		e.CheckPlayed(t)
		e.check(t, 20, "a/x")
		if len(e.errors) == 0 || !errors.Is(e.errors[0], discovery.ErrChanged) {
			t.Errorf("got %v", e.errors)
		}
	})
}

func TestChangedCRDRebuildsTheStore(t *testing.T) {
	d := fake.Widgets
	crd := func(generation int, field string) http.HandlerFunc {
		return fake.Body(codec.MediaJSON, fmt.Appendf(nil, `{"metadata":{"uid":"u","generation":%d},"spec":{"versions":[{"name":"v1","selectableFields":[{"jsonPath":".spec.%s"}]}],`+fake.WidgetNames+`}`, generation, field))
	}
	steps := []step{
		{"crd", crd(1, "color")},
		{"watchlist", d.EndedAfter(watched, d.Added("a/x@3"), d.InitialEventsEnd("10"))},
		{"crd", fake.Refuse(http.StatusInternalServerError)}, // tells nothing
		{"crd", crd(1, "color")},
		{"watch 10", d.Cut(d.Bookmark("11"))},
		{"crd", crd(2, "size")},
		{"crd", crd(2, "size")},
		{"watchlist", d.Stream(d.Added("a/x@3"), d.InitialEventsEnd("20"))},
	}
	run(t, d, steps, func(t *testing.T, e *env) {
		pass(watched + time.Minute)
		e.CheckPlayed(t)
		e.check(t, 20, "a/x")
		fields := &e.client.Session().Description().Fields
		_, size := fields.Position("spec.size")
		_, color := fields.Position("spec.color")
		if !size || color {
			t.Errorf("selectable by size: %v, by color: %v", size, color)
		}
	})
}

// The store goes on only if nothing else has changed.
func TestStoreGoesOnIfOnlyColumnsChanged(t *testing.T) {
	d := fake.Widgets
	for _, row := range []struct {
		name    string
		after   time.Duration // since the store was built
		crd     http.HandlerFunc
		column  string // of the apiserver's Tables then
		words   string // with which it describes them
		goesOn  bool
		columns int // calls of ColumnsChanged
	}{
		{"other columns", 2 * watched, fake.CRD(2, "p", "B"), "B", "Name.", true, 1},
		{"other schema", 2 * watched, fake.CRD(2, "q", "A"), "A", "Name.", false, 0},
		{"other schema and columns", 2 * watched, fake.CRD(2, "q", "B"), "B", "Name.", false, 0},
		{"two updates", 2 * watched, fake.CRD(3, "p", "B"), "B", "Name.", false, 0},
		{"other descriptions", 2 * watched, fake.CRD(1, "p", "A"), "A", "The name.", true, 1},
		{"nothing", 2 * watched, fake.CRD(1, "p", "A"), "A", "Name.", true, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			steps := []step{
				{"crd", fake.CRD(1, "p", "A")},
				{"table", fake.Table("A", "Name.")},
				{"watchlist", d.EndedAfter(row.after, d.Added("a/x@3"), d.InitialEventsEnd("10"))},
				{"crd", row.crd},
			}
			columns := step{"table", fake.Table(row.column, row.words)}
			switch {
			case row.goesOn:
				steps = append(steps, columns, step{"watch 10", d.Stream(d.Bookmark("20"))})
			default: // it is read again for the new store
				steps = append(steps, step{"crd", row.crd}, columns, step{"watchlist", d.Stream(d.Added("a/x@3"), d.InitialEventsEnd("20"))})
			}
			run(t, d, steps, func(t *testing.T, e *env) {
				pass(2 * row.after)
				e.CheckPlayed(t)
				e.check(t, 20, "a/x")
				if goesOn := len(e.stores) == 1; goesOn != row.goesOn {
					t.Errorf("the store goes on: %v", goesOn)
				}
				if len(e.columns) != row.columns {
					t.Errorf("ColumnsChanged was called %d times", len(e.columns))
				}
				now := e.client.Session().Description()
				if !hasColumn(now, row.column) || !strings.Contains(string(now.Resource.Columns.AppendDefinitions(nil)), row.words) {
					t.Errorf("columns %v", now.Resource.Columns)
				}
			})
		})
	}
}

func hasColumn(d *discovery.Description, name string) bool {
	return d.Resource.Columns != nil && strings.Contains(string(d.Resource.Columns.AppendDefinitions(nil)), `"`+name+`"`)
}

// The columns that are compared again are those of the last CRD, not those by which the store was
// built.
func TestColumnsThatDoNotMatchAreComparedAgain(t *testing.T) {
	d := fake.Widgets
	steps := []step{
		{"crd", fake.CRD(1, "p", "A")},
		{"watchlist", d.EndedAfter(2*watched, d.Added("a/x@3"), d.InitialEventsEnd("10"))},
		{"crd", fake.CRD(2, "p", "B")},
		{"table", fake.Refuse(http.StatusNotAcceptable)},
		{"watch 10", d.EndedAfter(watched, d.Bookmark("20"))},
		{"crd", fake.CRD(2, "p", "B")},
		{"table", fake.Refuse(http.StatusServiceUnavailable)}, // tells nothing
		{"crd", fake.CRD(2, "p", "B")},
		{"table", fake.Table("B", "Name.")},
		{"watch 20", d.Stream(d.Bookmark("30"))},
	}
	run(t, d, steps, func(t *testing.T, e *env) {
		pass(5 * watched)
		e.CheckPlayed(t)
		e.check(t, 30, "a/x")
		if now := e.client.Session().Description(); !hasColumn(now, "B") || len(e.stores) != 1 {
			t.Errorf("columns %v, %d stores", now.Resource.Columns, len(e.stores))
		}
	})
}

// A read that only a changed CRD allows must not be answered by a store that was built before.
func TestProbeFailsIfTheCRDHasChanged(t *testing.T) {
	d := fake.Widgets
	steps := []step{
		{"crd", fake.CRD(1, "p", "A")},
		{"watchlist", d.Stream(d.Added("a/x@3"), d.InitialEventsEnd("10"))},
		{"metadata", d.PageBody("12", "")},
		{"crd", fake.CRD(1, "p", "A")},
		{"metadata", d.PageBody("12", "")},
		{"crd", fake.CRD(2, "q", "A")},
	}
	run(t, d, steps, func(t *testing.T, e *env) {
		pass(time.Second)
		if version, err := e.client.Session().Probe(t.Context()); version != 12 || err != nil {
			t.Errorf("got %d, %v", version, err)
		}
		if _, err := e.client.Session().Probe(t.Context()); !errors.Is(err, cache.ErrDiverged) {
			t.Errorf("got %v", err)
		}
		e.CheckPlayed(t)
	})
}

// The CRD is read after the list only if its version is not known to be as new.
func TestProbeReadsTheCRDOnlyIfItMayHaveChanged(t *testing.T) {
	d := fake.Widgets
	crd := func(version string) http.HandlerFunc {
		return fake.Body(codec.MediaJSON, []byte(`{"metadata":{"uid":"u","generation":1,"resourceVersion":"`+version+`"},"spec":{"versions":[{"name":"v1"}],`+fake.WidgetNames+`}`))
	}
	listed := func(version, crd string) http.HandlerFunc {
		return fake.Body(codec.MediaJSON, []byte(`{"metadata":{"resourceVersion":"`+version+`"},"items":[{"metadata":{"resourceVersion":"`+crd+`"}}]}`))
	}
	for name, row := range map[string]struct {
		crds http.HandlerFunc
		read bool
	}{
		"known":               {listed("12", "5"), false},
		"known later":         {listed("13", "5"), false},
		"known before":        {listed("11", "5"), true},
		"another version":     {listed("12", "6"), true},
		"none":                {fake.Body(codec.MediaJSON, []byte(`{"metadata":{"resourceVersion":"12"},"items":[]}`)), true},
		"refused":             {fake.Refuse(http.StatusForbidden), true},
		"cannot be listed":    {fake.Refuse(http.StatusInternalServerError), true},
		"cannot be read":      {fake.Body(codec.MediaJSON, []byte(`{"metadata":`)), true},
		"without its version": {fake.Body(codec.MediaJSON, []byte(`{"items":[{"metadata":{"resourceVersion":"5"}}]}`)), true},
	} {
		t.Run(name, func(t *testing.T) {
			steps := []step{
				{"crd", crd("5")},
				{"watchlist", d.Stream(d.Added("a/x@3"), d.InitialEventsEnd("10"))},
				{"metadata", d.PageBody("12", "")},
			}
			if row.read {
				steps = append(steps, step{"crd", crd("6")})
			}
			run(t, d, steps, func(t *testing.T, e *env) {
				e.SetCRDs(row.crds)
				pass(time.Second)
				if version, err := e.client.Session().Probe(t.Context()); version != 12 || err != nil {
					t.Errorf("got %d, %v", version, err)
				}
				e.CheckPlayed(t)
			})
		})
	}
}
