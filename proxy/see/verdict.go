package see

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sluice/proxy/fault"
)

// States that are not only of one rule.
const (
	stateAway    = "away"
	stateWrong   = "wrong"
	stateStalled = "stalled"
	stateFilling = "filling"
	stateIdle    = "idle"
	stateWell    = "well"
)

// States are all states, the most urgent first.
func States() []string {
	var all []string
	for _, r := range rules {
		all = append(all, r.state)
	}
	return all
}

// Verdict says in words how a Sluice is.
type Verdict struct {
	State    string `json:"state"`
	Sentence string `json:"sentence"`
	Do       string `json:"do"` // empty if there is nothing to do
	// Runbook is a section of docs/deploying.md, or empty.
	Runbook string `json:"runbook"`
}

// Well reports whether nobody has to do anything.
func (v Verdict) Well() bool {
	return v.State == stateWell || v.State == stateIdle || v.State == stateFilling
}

// Mark is a shape for the verdict, so that nobody depends on its color.
func (v Verdict) Mark() string {
	switch {
	case v.Well():
		return "●"
	case slices.Contains(fault.States, v.State), v.State == stateWrong, v.State == stateStalled:
		return "■"
	}
	return "▲"
}

const (
	stalledAfter = 180.0 // seconds without an event, a bookmark or a proof
	lostAfter    = 30.0  // seconds without a watch, or without a store
	idleAfter    = 300.0 // seconds without a request
	mostSkew     = 60.0  // seconds between two clocks
	mostRefused  = 1.0   // requests a second
	mostLists    = 0.5   // of lists that pass, as a part of 1
	mostWatches  = 0.05  // of open watches, the same
)

// rule is a state with the condition under which it holds.
type rule struct {
	state, do, runbook string
	sentence           func(*Facts) string // empty if the state is another
}

// rules are asked in order; the first that has a sentence decides.
var rules = slices.Concat([]rule{
	{"stopping", "Nothing: clients connect elsewhere, or here once Sluice has started again.",
		"", func(f *Facts) string {
			if !f.Stopping {
				return ""
			}
			return fmt.Sprintf("Stopping: %s left.", plural(f.Watches, "watch is", "watches are"))
		}},
	{"starting", "After 30 s look at the kubeconfig and the network.", "", func(f *Facts) string {
		if f.Upstream.Probed || slices.ContainsFunc(f.Resources, func(r Resource) bool { return r.Synced }) {
			return ""
		}
		return fmt.Sprintf("Starting: waiting for the first answer of %s.", f.Upstream.Address)
	}},
}, faultRules(), []rule{
	{stateWrong, "Report it, with the log line \"store differs from the apiserver\" and what sluice bundle collects.",
		"sluicestoremismatch", func(f *Facts) string {
			return each(f, "differed from the apiserver within the last hour. The cache was rebuilt.",
				func(r *Resource) bool { return r.MismatchedSeconds != nil })
		}},
	{"overloaded", "Clients, sorted by Refused, shows who is refused and why; Limits shows what is full. Talk to that client, or raise the limit.",
		"sluicerefusesrequests", func(f *Facts) string {
			if f.RefusedPerSec <= mostRefused {
				return ""
			}
			return fmt.Sprintf("Overloaded: %s requests a second are refused.", number(f.RefusedPerSec))
		}},
	{"unsure", "The log says why (review failed): Sluice has no right to create reviews, or a webhook that the apiserver asks does not answer.",
		"sluicereviewsfail", func(f *Facts) string {
			if f.ReviewsFailed == 0 {
				return ""
			}
			return fmt.Sprintf("Callers cannot be verified: %s failed in the last minute. Their reads pass.",
				plural(f.ReviewsFailed, "review has", "reviews have"))
		}},
	{"restricted", fault.Grant + " Or name the resource in cache.exclude.", "sluicestoreforbidden", func(f *Facts) string {
		return each(f, "may not be listed or watched by Sluice itself (403). Its reads pass.", func(r *Resource) bool { return r.Forbidden })
	}},
	{stateStalled, "Look at the apiserver, and at proxies in front of it.",
		"sluicestorelagging", func(f *Facts) string {
			return each(f, "is not known to be up to date. Its reads pass, or wait for a proof.", stalled)
		}},
	{stateFilling, "", "", func(f *Facts) string {
		filling := 0
		for _, r := range f.Resources {
			if !r.Synced && !r.Forbidden {
				filling++
			}
		}
		if filling == 0 {
			return ""
		}
		return fmt.Sprintf("Filling %d of %s; their reads pass until then.", filling, plural(float64(len(f.Resources)), "cache", "caches"))
	}},
	{"passing", "Clients, sorted by Why passed, shows whose reads pass, and the page of each what to do about it.",
		"sluicereadspass", func(f *Facts) string {
			because := ""
			if f.PassedBecause != "" {
				because = ", most of all by the reason " + f.PassedBecause
			}
			if p := f.Reads.ListsPassed; p != nil && *p > mostLists {
				return fmt.Sprintf("Passing %s of the lists to the apiserver%s.", percent(*p), because)
			}
			if all := f.Watches + f.PassedWatches; all > 0 && f.PassedWatches/all > mostWatches {
				return fmt.Sprintf("Passing %s of the watches to the apiserver.", percent(f.PassedWatches/all))
			}
			return ""
		}},
	{"outdated", "Put the file right: the log says what is wrong in it.",
		"sluiceconfigoutdated", func(f *Facts) string {
			if !f.ConfigOutdated {
				return ""
			}
			return "Running by an older configuration: the present file is refused."
		}},
	{"lossy", "Make room on the disk, or give the log a faster one.", "sluiceauditincomplete", func(f *Facts) string {
		if f.AuditLost == 0 {
			return ""
		}
		return fmt.Sprintf("The audit log has lost %s in the last 10 minutes.", plural(f.AuditLost, "event", "events"))
	}},
	{"skewed", "See whether NTP runs on both machines. Ages in Tables are right nevertheless; the times in logs differ.", "", func(f *Facts) string {
		how, by := "behind", f.ClockSeconds
		if by < 0 {
			how, by = "ahead of", -by
		}
		if by <= mostSkew {
			return ""
		}
		return fmt.Sprintf("The clock of this machine is %s %s the apiserver's.", seconds(by), how)
	}},
	{stateIdle, "Point a client here: a first read starts the cache of its resource.",
		"", func(f *Facts) string {
			switch {
			case f.Watches > 0 || f.PassedWatches > 0:
				return ""
			case f.Requests == 0:
				return "Well. Nobody has read anything yet."
			case f.IdleSeconds < idleAfter:
				return ""
			}
			return fmt.Sprintf("Well, and unused for %s.", seconds(f.IdleSeconds))
		}},
	{stateWell, "", "", func(f *Facts) string {
		if len(f.Resources) == 0 {
			return "Well. No resource is cached: nobody has read one that can be."
		}
		return fmt.Sprintf("Well. %s served from memory, and all are known to be up to date.",
			plural(float64(len(f.Resources)), "resource is", "resources are"))
	}},
})

// faultRules are the rules of an apiserver that Sluice cannot use.
func faultRules() (all []rule) {
	for _, state := range fault.States {
		all = append(all, rule{state, "", "sluicecannotuseapiserver", func(f *Facts) string {
			is, since := f.Upstream.Fault, ""
			switch {
			case is.State != state || !f.Upstream.Probed:
				return ""
			case state != stateAway:
				return fmt.Sprintf("%s: %s.", is.Says, f.Upstream.Error)
			case f.Upstream.FailingSeconds >= 1:
				since = ", for " + seconds(f.Upstream.FailingSeconds)
			}
			return fmt.Sprintf("%s%s: %s. Watches stay open, lists of any version go on, the rest gets 503.", is.Says, since, f.Upstream.Error)
		}})
	}
	return all
}

// stalled reports whether a resource is not known to be up to date.
func stalled(r *Resource) bool {
	if !r.Synced {
		return !r.Forbidden && r.UnsyncedSeconds > lostAfter
	}
	return r.LostSeconds > lostAfter || r.ProvenSeconds != nil && *r.ProvenSeconds > stalledAfter || r.Stalled
}

// each returns a sentence about the resources of which a condition holds; empty without any.
func each(f *Facts, what string, holds func(*Resource) bool) string {
	var names []string
	for i := range f.Resources {
		if holds(&f.Resources[i]) {
			names = append(names, f.Resources[i].Name)
		}
	}
	const most = 3
	is := " "
	switch n := len(names); {
	case n == 0:
		return ""
	case n > most:
		names = append(names[:most], fmt.Sprintf("%d more", n-most))
		fallthrough
	case n > 1:
		is = ": each "
	}
	return strings.Join(names, ", ") + is + what
}

// Judge says how a Sluice is.
func Judge(f *Facts) Verdict {
	for _, r := range rules {
		if s := r.sentence(f); s != "" {
			return Verdict{State: r.state, Sentence: s, Do: cmp.Or(r.do, f.Upstream.Fault.Do), Runbook: r.runbook}
		}
	}
	return Verdict{State: stateWell} // not reached: the last rule always holds
}
