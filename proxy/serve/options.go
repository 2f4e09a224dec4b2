package serve

import (
	"strconv"
	"strings"

	"sluice/proxy/request"
)

// parse reads the options and refuses those that are not served from the
// cache, among them all that the apiserver would refuse.
func (p *plan) parse(info *request.Info) string {
	var err error
	if p.options, err = request.ParseReadOptions(info.Query); err != nil {
		return reasonOptions
	}
	o := &p.options
	if o.LabelSelector != "" || o.FieldSelector != "" || o.Continue != "" {
		return reasonOptions
	}
	if o.ResourceVersion == "" {
		return reasonMostRecent
	}
	if p.version, err = strconv.ParseUint(o.ResourceVersion, 10, 64); err != nil || !canonical(o.ResourceVersion) {
		return reasonOptions
	}
	if info.Verb == "watch" {
		return watchable(o)
	}
	return listable(o)
}

// canonical refuses numbers such as 00, which the apiserver takes for zero in
// some places and not in others.
func canonical(version string) bool {
	return version == "0" || !strings.HasPrefix(version, "0")
}

// listable accepts "any" and "not older than": versions with a limit are exact
// unless the client says otherwise, and any version ignores the limit.
func listable(o *request.ReadOptions) string {
	anyVersion := o.ResourceVersion == "0"
	switch {
	case o.SendInitialEvents != nil, o.ResourceVersionMatch != "" && o.ResourceVersionMatch != "NotOlderThan":
		return reasonOptions
	case o.Limit > 0 && !anyVersion:
		return reasonOptions
	}
	return ""
}

// watchable accepts a start from the state or from a version, with the
// combinations that the apiserver takes.
func watchable(o *request.ReadOptions) string {
	switch {
	case o.Timeout < 0:
		return reasonOptions
	case o.SendInitialEvents == nil && o.ResourceVersionMatch != "":
		return reasonOptions
	case o.SendInitialEvents != nil && o.ResourceVersionMatch != "NotOlderThan":
		return reasonOptions
	}
	return ""
}

// state reports whether a watch begins with the present state. Version 0 alone
// means so too.
func (p *plan) state() bool {
	if wish := p.options.SendInitialEvents; wish != nil {
		return *wish
	}
	return p.version == 0
}
