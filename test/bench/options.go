package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// options are the flags, and sizes that only --quick changes.
type options struct {
	pods, updates, rounds, watchers int
	scale                           []string // no section means that --scale is not asked for
	proofs, abuse, projected        bool
	turns                           time.Duration
	only                            *regexp.Regexp
	json, from                      string

	clients, readers     []int // numbers of concurrent clients of lists, and of readers of consistent reads
	rate                 int   // updates per second in fan-outs
	repeats              int   // of a most recent read of --scale=cluster
	users, agents, kinds int   // of --abuse
	large, reports       int   // objects of --scale=lists and --scale=memory
	// window is the least time of a list case at a server in a round, idle that of idle servers, and abuseWindow that of
	// the users' lists.
	window, idle, abuseWindow time.Duration
}

// defaults returns the options of a full run or of a quick one.
func defaults(quick bool) *options {
	if quick {
		return &options{
			pods: 1_000, updates: 60, rounds: 1, watchers: 100, clients: []int{1}, readers: []int{1, 20}, rate: 40, repeats: 4,
			users: 200, agents: 500, kinds: 50, large: 200, reports: 10,
			window: 300 * time.Millisecond, idle: 2 * time.Second, abuseWindow: 10 * time.Second,
		}
	}
	return &options{
		pods: 10_000, updates: 150, rounds: 5, watchers: 1_000, clients: []int{1, 20}, readers: []int{1, 20, 200}, rate: 20, repeats: 30,
		users: 5_000, agents: 10_000, kinds: 1_000, large: 10_000, reports: 500,
		window: 500 * time.Millisecond, idle: 10 * time.Second, abuseWindow: 30 * time.Second,
	}
}

// parseOptions returns the options of the arguments. The sizes of --scale are ten times as large as without it.
func parseOptions(args []string) (*options, error) {
	given := func(name string) bool {
		return slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(strings.TrimLeft(a, "-"), name) })
	}
	o := defaults(given("quick"))
	if given("scale") {
		o.pods, o.watchers, o.updates = 10*o.pods, 10*o.watchers, scaleUpdates
	}
	f := pflag.NewFlagSet("bench", pflag.ContinueOnError)
	f.Bool("quick", false, "smaller sizes; takes a few minutes")
	f.IntVar(&o.pods, "pods", o.pods, "pods to load")
	f.IntVar(&o.watchers, "watchers", o.watchers, "watches of pods")
	f.IntVar(&o.updates, "updates", o.updates, "updates per round of watches")
	f.IntVar(&o.rounds, "rounds", o.rounds,
		"number of rounds, fewer for cases that take long; figures are their medians, with the spread behind them")
	f.BoolVar(&o.proofs, "proofs", false, "measure only the latency and upstream CPU of consistent reads")
	f.BoolVar(&o.abuse, "abuse", false,
		"measure only what an abusive user, attackers, a crowd of agents and a controller of many kinds cost")
	f.DurationVar(&o.turns, "turns", 0,
		"how long one Sluice in a cgroup of 1 GiB bears the attacks in turns, for --abuse; each is on a new one without it")
	f.BoolVar(&o.projected, "projections", false, "measure only projected informers and watches")
	f.StringSliceVar(&o.scale, "scale", nil,
		"measure only these `sections` with ten times as many --pods and --watchers, from "+strings.Join(scaleSections, ","))
	only := f.String("only", "", "run only the cases that match this regular `expression`, such as \"json gzip x20\" or \"watch\"")
	f.StringVar(&o.json, "json", "", "also write the report to this `file`")
	f.StringVar(&o.from, "from", "", "print the report in this `file` instead of measuring")
	err := f.Parse(args)
	if err == nil {
		o.only, err = regexp.Compile(*only)
	}
	if err != nil {
		return nil, err
	}
	if min(o.pods, o.watchers, o.updates, o.rounds) < 1 {
		return nil, errors.New("--pods, --watchers, --updates and --rounds must be at least 1")
	}
	for _, section := range o.scale {
		if !slices.Contains(scaleSections, section) {
			return nil, fmt.Errorf("--scale: %q is not one of %s", section, strings.Join(scaleSections, ", "))
		}
	}
	return o, nil
}
