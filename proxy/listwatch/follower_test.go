package listwatch

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"sluice/codec"
	"sluice/test/support/fake"
)

func TestFollowerReadsWholeObjectsUntilTheyAreDeleted(t *testing.T) {
	d := fake.ConfigMaps.InJSON()
	whole := func(respond http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if accept := r.Header.Get("Accept"); accept != codec.MediaJSON {
				t.Errorf("accepts %s", accept)
			}
			respond(w, r)
		}
	}
	steps := []fake.Step{
		{Call: "page", Respond: whole(d.PageBody("10", "two", "a/x@3"))},
		{Call: "page two", Respond: fake.Refuse(http.StatusInternalServerError)},
		{Call: "page", Respond: whole(d.PageBody("10", "", "a/x@3", "a/y@4"))},
		{Call: "watch 10", Respond: whole(d.Ended(d.Modified("a/x@11"), d.Deleted("a/x@12"), d.Bookmark("13")))},
		{Call: "page", Respond: whole(d.PageBody("14", "", "a/z@14"))},
		{Call: "watch 14", Respond: whole(d.Ended())},
	}
	synctest.Test(t, func(t *testing.T) {
		api := fake.New(t, d, steps)
		u, end := api.Upstream()
		defer end()
		opened := 0
		f := NewFollower(u, d.GVR, zap.NewNop(), Options{Whole: true, Opened: func() func() { opened++; return func() {} }})
		for i, want := range [][]string{
			{"a/x@3 true"}, {"a/y@4 true", "a/x@11 true", "a/x@12 false"}, {"a/z@14 true", "a/x@14 false", "a/y@14 false"},
		} {
			var got []string
			_ = f.follow(t.Context(), func(c Change) {
				got = append(got, fmt.Sprintf("%s@%d %t", c.Key, c.Version, bytes.Contains(c.Object, []byte(`"metadata"`))))
			})
			if len(got) > 2 {
				slices.Sort(got[1:])
				slices.Sort(want[1:])
			}
			if diff := cmp.Diff(want, got); diff != "" || opened != i {
				t.Errorf("%s, %d watches", diff, opened)
			}
		}
		api.CheckPlayed(t)
	})
}
