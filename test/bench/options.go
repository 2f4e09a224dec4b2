package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// options are the flags; define says what each is for.
type options struct {
	pods, updates, rate, lists, gets, rounds, users, agents, kinds, abuseFactor, configMaps, large, reports, stalled int

	formats, encodes, streams, watches, watchEncodes, scale words // no scale means that --scale is not asked for
	clients, churns, watchers, sizes, readers, feeds        counts

	turns, listEvery, abuseWindow, window, idle time.Duration
	memory                                      int64

	proofs, abuse                   bool
	only                            expression
	dir, json, plot, from, profiles string
}

// flags defines the flags of options with their defaults: those of a full run and those of a quick one.
type flags struct {
	*flag.FlagSet
	quick bool
}

func choose[T any](f flags, full, quick T) T {
	if f.quick {
		return quick
	}
	return full
}

// number defines a flag of a positive number.
func (f flags) number(to *int, name string, full, quick int, usage string) {
	*to = choose(f, full, quick)
	f.Var((*positive)(to), name, usage)
}

func (f flags) numbers(to *counts, name string, full, quick counts, usage string) {
	*to = choose(f, full, quick)
	f.Var(to, name, usage)
}

// words defines a flag of words from a list, which the usage names.
func (f flags) words(to *words, name string, from []string, full, quick []string, usage string) {
	*to = words{choose(f, full, quick), from}
	f.Var(to, name, usage+", from "+strings.Join(from, ","))
}

func (f flags) duration(to *time.Duration, name string, full, quick time.Duration, usage string) {
	f.DurationVar(to, name, choose(f, full, quick), usage)
}

// parseOptions returns the options of the arguments. The sizes of --scale are ten times as large as without it.
func parseOptions(args []string) (*options, error) {
	given := func(name string) bool {
		return slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(strings.TrimLeft(a, "-"), name) })
	}
	o := &options{}
	f := flags{flag.NewFlagSet("bench", flag.ContinueOnError), given("quick")}
	f.SetOutput(os.Stderr)
	times, updates := 1, choose(f, 150, 60)
	if given("scale") {
		times, updates = 10, scaleUpdates
	}
	f.Bool("quick", false, "smaller defaults of all other flags; takes a few minutes")
	o.define(f, times, updates)
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if len(o.scale.list) > 0 && o.stalled >= slices.Min(o.watchers) {
		return nil, errors.New("--stalled must be less than --watchers")
	}
	if slices.Min(slices.Concat(o.clients, o.watchers, o.sizes, o.readers, o.feeds)) < 1 || o.listEvery <= 0 {
		return nil, errors.New("--clients, --watchers, --sizes, --readers, --feeds and --list-every must be positive")
	}
	if o.proofs {
		o.pods = slices.Max(o.sizes) // the size that is measured first
	}
	return o, nil
}

// define defines all flags but --quick.
func (o *options) define(f flags, times, updates int) {
	identityOrGzip := []string{identity, "gzip"}
	f.number(&o.pods, "pods", 10_000*times, 1_000*times, "pods to load")
	five := []string{"json", "protobuf", "cbor", "table", "yaml"}
	f.words(&o.formats, "formats", formatNames(), formatNames(), five, "`formats` of lists")
	f.words(&o.encodes, "encodings", encodings, encodings, identityOrGzip, "content `encodings` of lists")
	f.words(&o.streams, "streams", watchNames(), []string{"json", "protobuf"}, []string{"json"}, "`formats` of streaming lists")
	f.words(&o.watches, "watches", watchNames(), []string{"json", "protobuf", "cbor"}, []string{"json", "cbor"},
		"`formats` of fan-outs")
	f.words(&o.watchEncodes, "watch-encodings", identityOrGzip, identityOrGzip, identityOrGzip, "content `encodings` of fan-outs")
	f.numbers(&o.churns, "churn", counts{0, 50}, counts{0}, "`numbers` of updates per second during list cases")
	f.numbers(&o.clients, "clients", counts{1, 20}, counts{1}, "`numbers` of concurrent clients of lists")
	f.numbers(&o.watchers, "watchers", counts{1_000 * times}, counts{100 * times}, "`numbers` of watchers")
	f.number(&o.updates, "updates", updates, updates, "updates per fan-out and round")
	f.number(&o.rate, "rate", 20, 40, "updates per second")
	f.number(&o.lists, "consistent-lists", 30, 4, "consistent lists, one at a time")
	f.number(&o.gets, "gets", 600, 100, "gets of the most recent version, one at a time")
	f.BoolVar(&o.proofs, "proofs", false, "measure only the latency and upstream CPU of consistent reads")
	f.BoolVar(&o.abuse, "abuse", false,
		"measure only what an abusive user, attackers, a crowd of agents and a controller of many kinds cost")
	f.number(&o.users, "users", 5_000, 200, "users beside the abusive one")
	f.number(&o.agents, "agents", 10_000, 500, "agents of the crowd, each with a connection, for --abuse")
	f.DurationVar(&o.turns, "turns", 0,
		"how long one Sluice bears the attacks in turns, for --abuse; each is on a new one without it")
	f.Int64Var(&o.memory, "memory", 1<<30, "`bytes` of memory that a cgroup leaves this Sluice")
	f.number(&o.kinds, "kinds", 1_000, 50, "kinds that one controller watches, for --abuse")
	f.duration(&o.listEvery, "list-every", 30*time.Second, 10*time.Second, "time between two lists of a user, for --abuse")
	f.number(&o.abuseFactor, "abuse-factor", 100, 100, "how many times as often as a user the abusive one lists")
	f.duration(&o.abuseWindow, "abuse-window", 30*time.Second, 10*time.Second, "duration of each measurement of the users' lists")
	f.words(&o.scale, "scale", scaleSections, nil, nil, "measure only these `sections` with ten times as many --pods and --watchers")
	f.number(&o.configMaps, "configmaps", 300_000, 3_000, "ConfigMaps of 1 KB beside the pods, with --scale=cluster")
	f.numbers(&o.feeds, "feeds", counts{500, 1_000, 2_000, 4_000, 8_000}, counts{100},
		"`numbers` of updates of pods per second, with --scale=cluster")
	f.number(&o.large, "large-configmaps", 10_000, 200, "ConfigMaps of 100 KB, with --scale=lists")
	f.number(&o.reports, "reports", 500, 10, "custom resources of 1.3 MB, with --scale=memory")
	f.number(&o.stalled, "stalled", 500, 50, "watchers that stop reading, with --scale=watches")
	f.numbers(&o.sizes, "sizes", counts{100, 1_000, 10_000}, counts{100, 1_000}, "`numbers` of pods for consistent reads")
	f.numbers(&o.readers, "readers", counts{1, 20, 200}, counts{1, 20}, "`numbers` of concurrent readers of consistent reads")
	f.number(&o.rounds, "rounds", 5, 1,
		"number of rounds, fewer for cases that take long; figures are their medians, with the spread behind them")
	f.duration(&o.window, "window", 500*time.Millisecond, 300*time.Millisecond, "minimum duration per list case, server and round")
	f.duration(&o.idle, "idle", 10*time.Second, 2*time.Second, "duration of the idle measurement")
	f.Var(&o.only, "only", "run only the cases that match this regular `expression`, such as \"json gzip x20\" or \"watch\"")
	f.StringVar(&o.dir, "dir", "", "keep the control plane in this `directory`; its pods are reused")
	f.StringVar(&o.json, "json", "", "also write the report to this `file`")
	f.StringVar(&o.plot, "plot", "", "also draw the CPU of the cases into this `file`, as SVG")
	f.StringVar(&o.from, "from", "", "print, and draw, the report in this `file` instead of measuring")
	f.StringVar(&o.profiles, "profiles", "", "profile Sluice in an additional run of each case, into this `directory`")
}

// words is a flag such as "json,protobuf".
type words struct{ list, from []string }

func (w *words) String() string { return strings.Join(w.list, ",") }

// Set implements flag.Value.
func (w *words) Set(text string) error {
	w.list = strings.Split(text, ",")
	for _, word := range w.list {
		if !slices.Contains(w.from, word) {
			return fmt.Errorf("%q is not one of %s", word, strings.Join(w.from, ", "))
		}
	}
	return nil
}

// uses reports whether any case uses a format.
func (o *options) uses(format string) bool {
	return slices.Contains(slices.Concat(o.formats.list, o.streams.list, o.watches.list), format)
}

// positive is a flag of a positive number.
type positive int

func (p *positive) String() string { return fmt.Sprint(int(*p)) }

// Set implements flag.Value.
func (p *positive) Set(text string) error {
	n, err := strconv.Atoi(text)
	if *p = positive(n); err == nil && n < 1 {
		err = errors.New("must be positive")
	}
	return err
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
