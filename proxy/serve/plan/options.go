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
func (p *Plan) parseOptions() error {
	var err error
	o := &p.Options
	if *o, err = request.ParseListOptions(p.Info.Query); err != nil {
		return outcome.UnservedOptions
	}
	if p.Version, err = ParseVersion(o.ResourceVersion); err != nil {
		return outcome.UnservedOptions
	}
	switch p.Verb {
	case negotiate.Get:
		return p.parseGet()
	case negotiate.Watch:
		return p.parseWatch()
	default:
		return p.parseList()
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

func (p *Plan) parseGet() error {
	if p.Info.Query.Has("export") || len(content.IsPathSegmentName(p.Read.Name)) > 0 {
		return outcome.UnservedOptions
	}
	p.matchVersion(false)
	return nil
}

// parseList reads the options of a list (wire.md 4.2, 4.3, 4.4).
func (p *Plan) parseList() error {
	o := &p.Options
	if !validListOptions(o, p.Version) {
		return outcome.UnservedOptions
	}
	if o.ResourceVersion == "0" || o.Limit < 0 {
		o.Limit = 0 // a list at any version ignores the limit
	}
	if o.Continue != "" {
		var err error
		p.Match = MatchExact
		if p.Version, p.PageStart, err = parseContinue(o.Continue, p.Read.Namespace); err != nil {
			return outcome.UnservedOptions
		}
		return nil
	}
	p.matchVersion(o.ResourceVersionMatch == string(metav1.ResourceVersionMatchExact) || o.ResourceVersionMatch == "" && o.Limit > 0)
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
func (p *Plan) parseWatch() error {
	o := &p.Options
	if !validWatchOptions(o) {
		return outcome.UnservedOptions
	}
	if p.Read.Legacy && (o.SendInitialEvents != nil || p.Info.Query.Has("watch")) {
		return outcome.UnservedOptions // combinations of the deprecated path with newer parameters
	}
	p.InitialEvents = o.InitialEvents()
	p.matchVersion(!p.InitialEvents)
	return nil
}

// StreamingList reports whether a bookmark ends the initial events of a watch, which the deprecated paths do not have.
func (p *Plan) StreamingList() bool {
	return p.InitialEvents && p.Options.AllowBookmarks && !p.Info.LegacyWatchPath
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

// matchVersion derives the match from the resource version; exact says what a version above 0 means.
func (p *Plan) matchVersion(exact bool) {
	switch {
	case p.Options.ResourceVersion == "":
		p.Match = MatchMostRecent
	case p.Version == 0:
		p.Match = MatchAny
	case exact:
		p.Match = MatchExact
	default:
		p.Match = MatchNotOlderThan
	}
}
