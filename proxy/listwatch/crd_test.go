package listwatch

import (
	"errors"
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
				e.checkAfter(t, 2*row.after, 20, "a/x")
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
		e.checkAfter(t, 5*watched, 30, "a/x")
		if now := e.client.Session().Description(); !hasColumn(now, "B") || len(e.stores) != 1 {
			t.Errorf("columns %v, %d stores", now.Resource.Columns, len(e.stores))
		}
	})
}

// The CRD is read after the list only if its version is not known to be as new. A read that only a changed CRD allows must not be
// answered by a store that was built before.
func TestProbeReadsTheCRDIfItMayHaveChangedAndFailsIfItHas(t *testing.T) {
	d := fake.Widgets
	crd := func(version string) http.HandlerFunc {
		return fake.Body(codec.MediaJSON, []byte(`{"metadata":{"uid":"u","generation":1,"resourceVersion":"`+version+`"},"spec":{"versions":[{"name":"v1"}],`+fake.WidgetNames+`}`))
	}
	listed := func(version, crd string) http.HandlerFunc {
		return fake.Body(codec.MediaJSON, []byte(`{"metadata":{"resourceVersion":"`+version+`"},"items":[{"metadata":{"resourceVersion":"`+crd+`"}}]}`))
	}
	for name, row := range map[string]struct {
		crds http.HandlerFunc
		read http.HandlerFunc // nil if it is not read
	}{
		"known":               {listed("12", "5"), nil},
		"known later":         {listed("13", "5"), nil},
		"known before":        {listed("11", "5"), crd("6")},
		"another version":     {listed("12", "6"), crd("6")},
		"none":                {fake.Body(codec.MediaJSON, []byte(`{"metadata":{"resourceVersion":"12"},"items":[]}`)), crd("6")},
		"refused":             {fake.Refuse(http.StatusForbidden), crd("6")},
		"cannot be listed":    {fake.Refuse(http.StatusInternalServerError), crd("6")},
		"cannot be read":      {fake.Body(codec.MediaJSON, []byte(`{"metadata":`)), crd("6")},
		"without its version": {fake.Body(codec.MediaJSON, []byte(`{"items":[{"metadata":{"resourceVersion":"5"}}]}`)), crd("6")},
		"changed":             {listed("12", "6"), fake.CRD(2, "q", "A")},
	} {
		t.Run(name, func(t *testing.T) {
			steps := []step{
				{"crd", crd("5")},
				{"watchlist", d.Stream(d.Added("a/x@3"), d.InitialEventsEnd("10"))},
				{"metadata", d.PageBody("12", "")},
			}
			if row.read != nil {
				steps = append(steps, step{"crd", row.read})
			}
			run(t, d, steps, func(t *testing.T, e *env) {
				e.SetCRDs(row.crds)
				pass(time.Second)
				version, err := e.client.Session().Probe(t.Context())
				if changed := name == "changed"; changed != errors.Is(err, cache.ErrDiverged) || !changed && (version != 12 || err != nil) {
					t.Errorf("got %d, %v", version, err)
				}
				e.CheckPlayed(t)
			})
		})
	}
}
