package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

// options are the flags.
type options struct {
	pods    int
	formats words
	encodes words // content encodings of lists
	streams words // formats of streaming lists
	watches words // formats of fan-outs
	// watchEncodes are the content encodings of fan-outs.
	watchEncodes words
	clients      counts // concurrent, of a list case
	churns       counts // updates per second during list cases
	watchers     counts
	updates      int // per fan-out and round
	rate         int // updates per second
	lists        int // consistent lists, one at a time
	gets         int // gets that pass, one at a time
	rounds       int
	proofs       bool // only the proofs
	abuse        bool // only the abusive user
	users        int  // beside the abusive one
	agents       int  // of the crowd
	kinds        int  // of the controller
	// turns is how long a Sluice with memory of its own has to bear all attacks in turns; 0 is once each, by a new one.
	turns      time.Duration
	memory     int64  // bytes
	sizes      counts // of the cluster, in pods, for proofs
	readers    counts // of a proof case, concurrent
	scale      words  // sections of --scale; none means that it is not asked for
	configMaps int    // of the section "cluster"
	feeds      counts // updates of pods per second, of the section "cluster"
	large      int    // ConfigMaps of 100 KB of the section "lists"
	reports    int    // custom resources of 1.3 MB of the section "memory"
	stalled    int    // watches that stop reading, of the section "watches"
	// listEvery is the time between two lists of a user, and abuseFactor how many times as often the abusive
	// one lists.
	listEvery   time.Duration
	abuseFactor int
	// abuseWindow is the duration of each measurement without and with the abusive user.
	abuseWindow time.Duration
	window      time.Duration // minimum duration of a list case per target and round
	idle        time.Duration // duration of the idle measurement
	only        expression
	dir         string
	json        string
	profiles    string
	plot        string
	from        string
}

// full and quick are the defaults without and with --quick.
var (
	full = options{
		pods: 10_000, formats: formatNames(), encodes: words{identity, "gzip", "zstd"},
		streams: words{"json", "protobuf"}, watches: words{"json", "protobuf", "cbor"}, watchEncodes: words{identity, "gzip"},
		clients: counts{1, 20}, churns: counts{0, 50}, watchers: counts{1000}, updates: 150, rate: 20,
		lists: 30, gets: 600, rounds: 5, window: 500 * time.Millisecond, idle: 10 * time.Second,
		sizes: counts{100, 1_000, 10_000}, readers: counts{1, 20, 200}, users: 5_000, agents: 10_000, kinds: 1_000, abuseWindow: 30 * time.Second,
		listEvery: 30 * time.Second, abuseFactor: 100,
		configMaps: 300_000, feeds: counts{500, 1_000, 2_000, 4_000, 8_000}, large: 10_000, reports: 500, stalled: 500,
	}
	quick = options{
		pods: 1_000, formats: words{"json", "protobuf", "cbor", "table", "yaml"}, encodes: words{identity, "gzip"},
		streams: words{"json"}, watches: words{"json", "cbor"}, watchEncodes: words{identity, "gzip"},
		clients: counts{1}, churns: counts{0}, watchers: counts{100}, updates: 60, rate: 40,
		lists: 4, gets: 100, rounds: 1, window: 300 * time.Millisecond, idle: 2 * time.Second,
		sizes: counts{100, 1_000}, readers: counts{1, 20}, users: 200, agents: 500, kinds: 50, abuseWindow: 10 * time.Second,
		listEvery: 10 * time.Second, abuseFactor: 100,
		configMaps: 3_000, feeds: counts{100}, large: 200, reports: 10, stalled: 50,
	}
)

func parseOptions(args []string) (_ *options, err error) {
	defer fails(&err)
	o := full
	if slices.Contains(args, "--quick") || slices.Contains(args, "-quick") {
		o = quick
	}
	if slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(strings.TrimLeft(a, "-"), "scale") }) {
		o.pods, o.watchers, o.updates = 10*o.pods, counts{10 * slices.Max(o.watchers)}, scaleUpdates
	}
	set := flag.NewFlagSet("bench", flag.ContinueOnError)
	set.SetOutput(os.Stderr)
	set.Bool("quick", false, "smaller defaults of all other flags; takes a few minutes")
	set.IntVar(&o.pods, "pods", o.pods, "pods to load")
	set.Var(&o.formats, "formats", "`formats` of lists, from "+strings.Join(formatNames(), ","))
	set.Var(&o.encodes, "encodings", "content `encodings` of lists, from identity, gzip, zstd")
	set.Var(&o.streams, "streams", "`formats` of streaming lists, from "+strings.Join(watchNames(), ","))
	set.Var(&o.watches, "watches", "`formats` of fan-outs, from "+strings.Join(watchNames(), ","))
	set.Var(&o.watchEncodes, "watch-encodings", "content `encodings` of fan-outs, from identity, gzip")
	set.Var(&o.churns, "churn", "`numbers` of updates per second during list cases")
	set.Var(&o.clients, "clients", "`numbers` of concurrent clients of lists")
	set.Var(&o.watchers, "watchers", "`numbers` of watchers")
	set.IntVar(&o.updates, "updates", o.updates, "updates per fan-out and round")
	set.IntVar(&o.rate, "rate", o.rate, "updates per second")
	set.IntVar(&o.lists, "consistent-lists", o.lists, "consistent lists, one at a time")
	set.IntVar(&o.gets, "gets", o.gets, "gets of the most recent version, one at a time")
	set.BoolVar(&o.proofs, "proofs", false, "measure only the latency and upstream CPU of consistent reads")
	set.BoolVar(&o.abuse, "abuse", false, "measure only what an abusive user, attackers, a crowd of agents and a controller of many kinds cost")
	set.IntVar(&o.users, "users", o.users, "users beside the abusive one")
	set.IntVar(&o.agents, "agents", o.agents, "agents of the crowd, each with a connection, for --abuse")
	set.DurationVar(&o.turns, "turns", 0, "how long one Sluice bears the attacks in turns, for --abuse; each is on a new one without it")
	set.Int64Var(&o.memory, "memory", 1<<30, "`bytes` of memory that a cgroup leaves this Sluice")
	set.IntVar(&o.kinds, "kinds", o.kinds, "kinds that one controller watches, for --abuse")
	set.DurationVar(&o.listEvery, "list-every", o.listEvery, "time between two lists of a user, for --abuse")
	set.IntVar(&o.abuseFactor, "abuse-factor", o.abuseFactor, "how many times as often as a user the abusive one lists")
	set.DurationVar(&o.abuseWindow, "abuse-window", o.abuseWindow, "duration of each measurement of the users' lists")
	set.Var(&o.scale, "scale", "measure only these `sections`, from "+strings.Join(scaleSections, ",")+"; --pods and --watchers are ten times as many then")
	set.IntVar(&o.configMaps, "configmaps", o.configMaps, "ConfigMaps of 1 KB beside the pods, with --scale=cluster")
	set.Var(&o.feeds, "feeds", "`numbers` of updates of pods per second, with --scale=cluster")
	set.IntVar(&o.large, "large-configmaps", o.large, "ConfigMaps of 100 KB, with --scale=lists")
	set.IntVar(&o.reports, "reports", o.reports, "custom resources of 1.3 MB, with --scale=memory")
	set.IntVar(&o.stalled, "stalled", o.stalled, "watchers that stop reading, with --scale=watches")
	set.Var(&o.sizes, "sizes", "`numbers` of pods for consistent reads")
	set.Var(&o.readers, "readers", "`numbers` of concurrent readers of consistent reads")
	set.IntVar(&o.rounds, "rounds", o.rounds, "number of rounds, fewer for cases that take long; figures are their medians, with the spread behind them")
	set.DurationVar(&o.window, "window", o.window, "minimum duration per list case, server and round")
	set.DurationVar(&o.idle, "idle", o.idle, "duration of the idle measurement")
	set.Var(&o.only, "only", "run only the cases that match this regular `expression`, such as \"json gzip x20\" or \"watch\"")
	set.StringVar(&o.dir, "dir", "", "keep the control plane in this `directory`; its pods are reused")
	set.StringVar(&o.json, "json", "", "also write the report to this `file`")
	set.StringVar(&o.plot, "plot", "", "also draw the CPU of the cases into this `file`, as SVG")
	set.StringVar(&o.from, "from", "", "print, and draw, the report in this `file` instead of measuring")
	set.StringVar(&o.profiles, "profiles", "", "profile Sluice in an additional run of each case, into this `directory`")
	check(set.Parse(args))
	check(o.validate())
	if o.proofs {
		o.pods = slices.Max(o.sizes) // the size that is measured first
	}
	return &o, nil
}

func (o *options) validate() error {
	if err := errors.Join(
		o.formats.validate("--formats", formatNames()), o.encodes.validate("--encodings", []string{identity, "gzip", "zstd"}),
		o.streams.validate("--streams", watchNames()), o.watches.validate("--watches", watchNames()), o.watchEncodes.validate("--watch-encodings", []string{identity, "gzip"}),
		o.scale.validate("--scale", scaleSections),
	); err != nil {
		return err
	}
	if slices.Min(slices.Concat(o.clients, o.watchers, o.sizes, o.readers)) < 1 {
		return errors.New("--clients, --watchers, --sizes and --readers must be positive")
	}
	if min(o.pods, o.updates, o.rate, o.lists, o.gets, o.rounds, o.users, o.agents, o.kinds, o.abuseFactor) < 1 || o.listEvery <= 0 {
		return errors.New("--pods, --updates, --rate, --consistent-lists, --gets, --rounds, --users, --agents, --kinds, --abuse-factor and --list-every must be positive")
	}
	if min(o.configMaps, slices.Min(o.feeds), o.large, o.reports, o.stalled) < 1 || len(o.scale) > 0 && o.stalled >= slices.Min(o.watchers) {
		return errors.New("--configmaps, --feeds, --large-configmaps, --reports and --stalled must be positive, and --stalled less than --watchers")
	}
	return nil
}

// words is a flag such as "json,protobuf".
type words []string

func (w *words) String() string { return strings.Join(*w, ",") }

// Set implements flag.Value.
func (w *words) Set(text string) error {
	*w = strings.Split(text, ",")
	return nil
}

func (w words) validate(flag string, of []string) error {
	for _, word := range w {
		if !slices.Contains(of, word) {
			return fmt.Errorf("%s: %q is not one of %s", flag, word, strings.Join(of, ", "))
		}
	}
	return nil
}

// uses reports whether any case uses a format.
func (o *options) uses(format string) bool {
	return slices.Contains(slices.Concat(o.formats, o.streams, o.watches), format)
}

// counts is a flag such as "1,20".
type counts []int

func (c *counts) String() string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(*c), " ", ","), "[]")
}

// Set implements flag.Value.
func (c *counts) Set(text string) error {
	*c = nil
	for part := range strings.SplitSeq(text, ",") {
		var n int
		if _, err := fmt.Sscanf(part, "%d", &n); err != nil || n < 0 {
			return fmt.Errorf("%q is not a number", part)
		}
		*c = append(*c, n)
	}
	return nil
}

// expression is a flag; its zero value matches everything.
type expression struct{ regexp.Regexp }

// Set implements flag.Value.
func (e *expression) Set(text string) error {
	re, err := regexp.Compile(text)
	if err == nil {
		e.Regexp = *re
	}
	return err
}

func (e *expression) matches(s string) bool { return e.Regexp.String() == "" || e.MatchString(s) }
