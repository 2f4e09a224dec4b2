package discovery

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/test/support/fake"
)

func TestRefreshDecidesWhetherTheStoreGoesOn(t *testing.T) {
	failed := errors.New("the apiserver's own error")
	for _, tt := range []struct {
		name    string
		crd     http.HandlerFunc
		after   time.Duration
		want    error // nil, ErrChanged, or failed for any other
		changed bool  // another Description is returned
	}{
		{"nothing changed", fake.CRD(1, "p", "A"), settleTime, nil, false},
		{"columns changed", fake.CRD(2, "p", "B"), settleTime, nil, true},
		{"columns changed too soon", fake.CRD(2, "p", "B"), settleTime / 2, ErrChanged, false},
		{"schema changed", fake.CRD(2, "q", "A"), settleTime, ErrChanged, false},
		{"CRD deleted", fake.Refuse(http.StatusNotFound), settleTime, ErrChanged, false},
		{"CRD forbidden", fake.Refuse(http.StatusForbidden), settleTime, failed, false},
		{"apiserver unavailable", fake.Refuse(http.StatusServiceUnavailable), settleTime, failed, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := fake.New(t, fake.Widgets, []fake.Step{
					respond("crd", fake.CRD(1, "p", "A")), respond("crd", tt.crd), respond("crd", tt.crd),
				})
				u, end := a.Upstream()
				defer end()
				d := New(u, fake.Widgets.GVR)
				was, err := d.Describe(t.Context(), nil, false)
				if err != nil {
					t.Fatal(err)
				}
				columns := was.Resource.Columns
				time.Sleep(tt.after)
				now, err := d.Refresh(t.Context(), was)
				verified := d.Verify(t.Context(), was)
				for _, err := range []error{err, verified} {
					if errors.Is(err, ErrChanged) != (tt.want == ErrChanged) || (err != nil) != (tt.want != nil) {
						t.Errorf("got %v, want %v", err, tt.want)
					}
					if tt.want == failed && !strings.Contains(err.Error(), "refused") {
						t.Errorf("the cause is lost: %v", err)
					}
				}
				if err == nil && (now != was) != tt.changed {
					t.Errorf("another description: %v", now != was)
				}
				if tt.changed && !strings.Contains(string(now.Resource.Columns.AppendDefinitions(nil)), `"B"`) {
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
