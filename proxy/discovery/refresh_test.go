package discovery

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"sluice/test/support/fake"
)

func TestRefreshDecidesWhetherTheStoreGoesOn(t *testing.T) {
	failed := errors.New("the apiserver's own error")
	for _, tt := range []struct {
		name    string
		crd     http.HandlerFunc
		table   http.HandlerFunc // nil if it is not read
		want    error            // nil, ErrChanged, or failed for any other
		changed string           // in the columns of another Description that is returned; empty if there is none
	}{
		{"nothing changed", fake.CRD(1, "p", "A"), fake.Table("A", "Name."), nil, ""},
		{"columns changed", fake.CRD(2, "p", "B"), fake.Table("B", "Name."), nil, `"B"`},
		{"descriptions of columns changed", fake.CRD(1, "p", "A"), fake.Table("A", "The name."), nil, "The name."},
		{"schema changed", fake.CRD(2, "q", "A"), nil, ErrChanged, ""},
		{"CRD deleted", fake.Refuse(http.StatusNotFound), nil, ErrChanged, ""},
		{"CRD forbidden", fake.Refuse(http.StatusForbidden), nil, failed, ""},
		{"apiserver unavailable", fake.Refuse(http.StatusServiceUnavailable), nil, failed, ""},
		{"columns unavailable", fake.CRD(1, "p", "A"), fake.Refuse(http.StatusServiceUnavailable), failed, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				steps := []fake.Step{respond("crd", fake.CRD(1, "p", "A")), respond("table", fake.Table("A", "Name.")), respond("crd", tt.crd)}
				if tt.table != nil {
					steps = append(steps, respond("table", tt.table))
				}
				a := fake.New(t, fake.Widgets, append(steps, respond("crd", tt.crd)))
				u, end := a.Upstream()
				defer end()
				d := New(u, fake.Widgets.GVR)
				was, err := d.Describe(t.Context(), nil, false)
				if err != nil {
					t.Fatal(err)
				}
				columns := was.Resource.Columns
				now, err := d.Refresh(t.Context(), was)
				verified := d.Verify(t.Context(), was)
				for i, err := range []error{err, verified} {
					fails := tt.want != nil && (i == 0 || tt.table == nil) // only columns are not verified
					if errors.Is(err, ErrChanged) != (tt.want == ErrChanged) || (err != nil) != fails {
						t.Errorf("got %v, want %v", err, tt.want)
					}
					if err == nil {
						continue
					}
					if tt.want == failed && !strings.Contains(err.Error(), "refused") {
						t.Errorf("the cause is lost: %v", err)
					}
				}
				if err == nil && (now != was) != (tt.changed != "") {
					t.Errorf("another description: %v", now != was)
				}
				if tt.changed != "" && !strings.Contains(string(now.Resource.Columns.AppendDefinitions(nil)), tt.changed) {
					t.Error("the new columns are missing")
				}
				if was.Resource.Columns != columns {
					t.Error("the description before was changed")
				}
				a.CheckPlayed(t)
			})
		})
	}
}

func TestWithBookmarkChangesNoDescription(t *testing.T) {
	was := &Description{}
	if now := was.WithBookmark([]byte("{}")); string(now.Resource.Bookmark) != "{}" || was.Resource.Bookmark != nil {
		t.Errorf("%s, before %s", now.Resource.Bookmark, was.Resource.Bookmark)
	}
}
