package conformance

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// feature returns what the apiserver must have for the row, or nothing if every supported release has
// it. The rows of a feature that the apiserver lacks are left out (harness.Lacks):
//
//   - WatchList: streaming lists, also those that watches are by default that allow bookmarks and
//     have no resource version. Sluice serves them before any apiserver.
//   - ConstrainedImpersonation: the wording of refused impersonation. Sluice applies the rules and
//     the wording of 1.36.
//   - Columns: Tables with the columns of the release of the go.mod. Sluice passes requests for
//     Tables whose columns are different.
func (r Row) feature() string {
	path, query, _ := strings.Cut(r.Path, "?")
	q, _ := url.ParseQuery(query) // odd queries need no feature
	watch := q.Has("watch") || strings.Contains(path, "/watch/")
	version := q.Get("resourceVersion")
	switch {
	case q.Has("sendInitialEvents"):
		return "WatchList"
	case watch && (version == "" || version == "0") && (q.Has("allowWatchBookmarks") || q.Has("continue")):
		return "WatchList"
	case strings.HasSuffix(r.User, "-cert") && r.Status >= http.StatusBadRequest && r.Source == "gateway":
		return "ConstrainedImpersonation"
	case strings.Contains(r.Accept, "as=Table") && slices.Contains(strings.Split(path, "/"), "deployments"):
		return "Columns"
	}
	return ""
}
