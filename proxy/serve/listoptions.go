package serve

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
func (p *plan) parseOptions(f Features) error {
	var err error
	o := &p.options
	if *o, err = request.ParseListOptions(p.info.Query); err != nil {
		return outcome.UnservedOptions
	}
	if p.info.Query.Has("shardSelector") && !f.ShardSelector {
		return outcome.UnservedOptions
	}
	if p.version, err = parseVersion(o.ResourceVersion); err != nil {
		return outcome.UnservedOptions
	}
	switch p.verb {
	case negotiate.Get:
		return p.parseGet()
	case negotiate.Watch:
		return p.parseWatch()
	default:
		return p.parseList()
	}
}

// parseVersion reads a resource version; empty is 0. It refuses numbers such as 00, which the
// apiserver takes for 0 in some places and not in others.
func parseVersion(text string) (uint64, error) {
	if text == "" {
		return 0, nil
	}
	if text != "0" && strings.HasPrefix(text, "0") {
		return 0, outcome.UnservedOptions
	}
	return strconv.ParseUint(text, 10, 64)
}

func (p *plan) parseGet() error {
	if p.info.Query.Has("export") || len(content.IsPathSegmentName(p.read.Name)) > 0 {
		return outcome.UnservedOptions
	}
	p.matchVersion(false)
	return nil
}

// parseList reads the options of a list (wire.md 4.2, 4.3, 4.4).
func (p *plan) parseList() error {
	o := &p.options
	if !validListOptions(o, p.version) {
		return outcome.UnservedOptions
	}
	if o.ResourceVersion == "0" || o.Limit < 0 {
		o.Limit = 0 // a list at any version ignores the limit
	}
	if o.Continue != "" {
		var err error
		p.match = matchExact
		if p.version, p.pageStart, err = parseContinue(o.Continue, p.read.Namespace); err != nil {
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
func (p *plan) parseWatch() error {
	o := &p.options
	if !validWatchOptions(o) {
		return outcome.UnservedOptions
	}
	if p.read.Legacy && (o.SendInitialEvents != nil || p.info.Query.Has("watch")) {
		return outcome.UnservedOptions // combinations of the deprecated path with newer parameters
	}
	p.initialEvents = p.version == 0
	if o.SendInitialEvents != nil {
		p.initialEvents = *o.SendInitialEvents
	}
	p.matchVersion(!p.initialEvents)
	return nil
}

// streamingList reports whether a bookmark ends the initial events of a watch, which the deprecated paths do not have.
func (p *plan) streamingList() bool {
	return p.initialEvents && p.options.AllowBookmarks && !p.info.LegacyWatchPath
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
func (p *plan) matchVersion(exact bool) {
	switch {
	case p.options.ResourceVersion == "":
		p.match = matchMostRecent
	case p.version == 0:
		p.match = matchAny
	case exact:
		p.match = matchExact
	default:
		p.match = matchNotOlderThan
	}
}
