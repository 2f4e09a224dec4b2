package conformance

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	utilversion "k8s.io/apimachinery/pkg/util/version"

	"sluice/test/harness"
)

// release is that of the apiserver, which TestMain sets.
var release *utilversion.Version

// leftOut reports whether the row is about something that the apiserver lacks, or about other releases.
func (r Row) leftOut() bool {
	return r.Since != "" && release.LessThan(utilversion.MustParse(r.Since)) ||
		r.Before != "" && !release.LessThan(utilversion.MustParse(r.Before)) ||
		slices.ContainsFunc(r.features(), harness.Lacks)
}

// features returns what the apiserver must have for the row beyond what every supported release has. The
// rows of a feature that the apiserver lacks are left out (harness.Lacks):
//
//   - WatchList: streaming lists, also those that watches are by default that allow bookmarks and
//     have no resource version. Sluice serves them with any apiserver.
//   - ConstrainedImpersonation: the wording of refused impersonation, which is that of the release of
//     the go.mod. The rules are those of the apiserver.
//   - Columns: Tables with the columns of the release of the go.mod. Sluice passes requests for
//     Tables whose columns are different.
//   - EmptyFields: bookmarks of kinds whose empty fields are printed as in the release of the go.mod.
//     Sluice writes those of built-in kinds as that release does.
//   - CSINodes: CSINodes with a status, which Sluice caches in Protobuf. Those without it are JSON, other formats pass.
//   - ListFromCacheSnapshot: continue tokens, byte by byte. Without it they name keys as etcd does; both
//     servers read both.
//   - CBOR: the feature gate CBORServingAndStorage, which the tests switch on. Sluice serves CBOR with any apiserver.
//   - CBORRefusals: 401 and 403 in CBOR, which Sluice writes for requests that it refuses itself.
//   - IgnoredShards: shard selectors have no meaning, as without the feature gate ShardedListAndWatch.
//   - ImpersonationErrors: a 400 for a group without a user. The request passes.
func (r Row) features() []string {
	path, query, _ := strings.Cut(r.Path, "?")
	q, _ := url.ParseQuery(query) // odd queries need no feature
	watch := q.Has("watch") || strings.Contains(path, "/watch/")
	version := q.Get("resourceVersion")
	var needs []string
	need := func(feature string, needed bool) {
		if needed {
			needs = append(needs, feature)
		}
	}
	byDefault := watch && (version == "" || version == "0") && (q.Has("allowWatchBookmarks") || q.Has("continue"))
	need("WatchList", q.Has("sendInitialEvents") || byDefault)
	cbor := strings.Contains(strings.Join(append(r.Header["Accept"], r.Accept, r.Instead), ","), "cbor")
	need("CBOR", cbor)
	need("CBORRefusals", cbor && r.Source == "gateway")
	need("IgnoredShards", q.Has("shardSelector") && r.Since == "")
	need("ConstrainedImpersonation", strings.HasSuffix(r.User, "-cert") && r.Status >= http.StatusBadRequest && r.Source == "gateway")
	need("ImpersonationErrors", r.Status == http.StatusBadRequest && r.Header["Impersonate-Group"] != nil && r.Header["Impersonate-User"] == nil)
	need("Columns", strings.Contains(r.Accept, "as=Table") && reads(path, "deployments", "serviceaccounts", "resourceslices"))
	need("ListFromCacheSnapshot", r.Exact && q.Has("limit"))
	need("CSINodes", reads(path, "csinodes") && (cbor || strings.Contains(r.Accept, "protobuf,")))
	need("EmptyFields", watch && reads(path, "resourceslices", "customresourcedefinitions"))
	return needs
}

// reads reports whether one of the resources is in a path.
func reads(path string, resources ...string) bool {
	return slices.ContainsFunc(strings.Split(path, "/"), func(part string) bool { return slices.Contains(resources, part) })
}
