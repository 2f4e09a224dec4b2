package plan

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/codec/negotiate"
	"sluice/proxy/request"
	"sluice/proxy/serve/outcome"
)

// parseOptions reads the query parameters and derives the version that may answer. It returns
// UnservedOptions for parameters that the apiserver refuses.
func (q *Query) parseOptions() error {
	var err error
	o := &q.Options
	if *o, err = request.ParseListOptions(q.Info.Query); err != nil {
		return outcome.UnservedOptions
	}
	if q.Version, err = ParseVersion(o.ResourceVersion); err != nil {
		return outcome.UnservedOptions
	}
	switch q.Verb {
	case negotiate.Get:
		return q.parseGet()
	case negotiate.Watch:
		return q.parseWatch()
	default:
		return q.parseList()
	}
}

// ParseVersion reads a resource version; empty is 0. It refuses numbers such as 00, which the
// apiserver takes for 0 in some places and not in others.
func ParseVersion(text string) (uint64, error) {
	if text == "" {
		return 0, nil
	}
	if text != "0" && strings.HasPrefix(text, "0") {
		return 0, outcome.UnservedOptions
	}
	return strconv.ParseUint(text, 10, 64)
}

func (q *Query) parseGet() error {
	if q.Info.Query.Has("export") || len(content.IsPathSegmentName(q.Read.Name)) > 0 {
		return outcome.UnservedOptions
	}
	q.matchVersion(false)
	return nil
}

// parseList reads the options of a list (wire.md 4.2, 4.3, 4.4).
func (q *Query) parseList() error {
	o := &q.Options
	if !validListOptions(o, q.Version) {
		return outcome.UnservedOptions
	}
	if o.ResourceVersion == "0" || o.Limit < 0 {
		o.Limit = 0 // a list at any version ignores the limit
	}
	if o.Continue != "" {
		var err error
		q.Match = MatchExact
		if q.Version, q.PageStart, err = parseContinue(o.Continue, q.Read.Namespace); err != nil {
			return outcome.UnservedOptions
		}
		return nil
	}
	q.matchVersion(o.ResourceVersionMatch == string(metav1.ResourceVersionMatchExact) || o.ResourceVersionMatch == "" && o.Limit > 0)
	return nil
}

func validListOptions(o *request.ListOptions, version uint64) bool {
	match := metav1.ResourceVersionMatch(o.ResourceVersionMatch)
	switch {
	case o.SendInitialEvents != nil:
		return false
	case o.Continue != "" && version != 0:
		return false
	case match == "":
		return true
	case o.ResourceVersion == "" || o.Continue != "":
		return false
	case match == metav1.ResourceVersionMatchExact:
		return o.ResourceVersion != "0"
	}
	return match == metav1.ResourceVersionMatchNotOlderThan
}

// parseWatch reads the options of a watch (wire.md 7.2, 7.3). Without a version, or from any version,
// a watch begins with initial events by default.
func (q *Query) parseWatch() error {
	o := &q.Options
	if !validWatchOptions(o) {
		return outcome.UnservedOptions
	}
	if q.Read.Legacy && (o.SendInitialEvents != nil || q.Info.Query.Has("watch")) {
		return outcome.UnservedOptions // combinations of the deprecated path with newer parameters
	}
	o.Limit = 0 // the apiserver ignores it
	q.InitialEvents = o.InitialEvents()
	q.matchVersion(!q.InitialEvents)
	return nil
}

// StreamingList reports whether a bookmark ends the initial events of a watch, which the deprecated paths do not have.
func (q *Query) StreamingList() bool {
	return q.InitialEvents && q.Options.AllowBookmarks && !q.Info.LegacyWatchPath
}

func validWatchOptions(o *request.ListOptions) bool {
	if o.Timeout < 0 || o.Continue != "" {
		return false
	}
	if o.SendInitialEvents == nil {
		return o.ResourceVersionMatch == ""
	}
	return o.ResourceVersionMatch == string(metav1.ResourceVersionMatchNotOlderThan)
}

// matchVersion derives the match from the resource version; exact is the meaning of a version above 0.
func (q *Query) matchVersion(exact bool) {
	switch {
	case q.Options.ResourceVersion == "":
		q.Match = MatchMostRecent
	case q.Version == 0:
		q.Match = MatchAny
	case exact:
		q.Match = MatchExact
	default:
		q.Match = MatchNotOlderThan
	}
}
