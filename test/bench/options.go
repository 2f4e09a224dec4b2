package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// options are the flags; define says what each is for.
type options struct {
	pods, updates, rate, lists, gets, rounds, users, agents, kinds, abuseFactor, configMaps, large, reports, stalled int

	formats, encodes, streams, watches, watchEncodes, scale []string // no scale means that --scale is not asked for
	clients, churns, watchers, sizes, readers               []int

	turns, listEvery, abuseWindow, window, idle time.Duration
	memory                                      int64

	proofs, abuse, projected bool
	only                     expression
	dir, json, from          string
}

// flags defines the flags of options with their defaults: those of a full run and those of a quick one.
type flags struct {
	*pflag.FlagSet
	quick bool
	from  map[string][]string // the words that a flag may have
}

func choose[T any](f flags, full, quick T) T {
	if f.quick {
		return quick
	}
	return full
}

// number defines a flag of a positive number.
func (f flags) number(to *int, name string, full, quick int, usage string) {
	f.IntVar(to, name, choose(f, full, quick), usage)
}

func (f flags) numbers(to *[]int, name string, full, quick []int, usage string) {
	f.IntSliceVar(to, name, choose(f, full, quick), usage)
}

// words defines a flag of words from a list, which the usage names.
func (f flags) words(to *[]string, name string, from []string, full, quick []string, usage string) {
	f.StringSliceVar(to, name, choose(f, full, quick), usage+", from "+strings.Join(from, ","))
	f.from[name] = from
}

func (f flags) duration(to *time.Duration, name string, full, quick time.Duration, usage string) {
	f.DurationVar(to, name, choose(f, full, quick), usage)
}

// validate returns an error if a number is too small, or a word is not one of those that its flag may have.
func (f flags) validate() (err error) {
	f.VisitAll(func(flag *pflag.Flag) {
		numbers, _ := f.GetIntSlice(flag.Name)
		if n, other := f.GetInt(flag.Name); other == nil {
			numbers = []int{n}
		}
		least := 1
		if flag.Name == "churn" { // a case without updates is one
			least = 0
		}
		if len(numbers) > 0 && slices.Min(numbers) < least {
			err = cmp.Or(err, fmt.Errorf("--%s must be at least %d", flag.Name, least))
		}
		words, _ := f.GetStringSlice(flag.Name)
		for _, word := range words {
			if from := f.from[flag.Name]; !slices.Contains(from, word) {
				err = cmp.Or(err, fmt.Errorf("--%s: %q is not one of %s", flag.Name, word, strings.Join(from, ", ")))
			}
		}
	})
	return err
}

// parseOptions returns the options of the arguments. The sizes of --scale are ten times as large as without it.
func parseOptions(args []string) (*options, error) {
	given := func(name string) bool {
		return slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(strings.TrimLeft(a, "-"), name) })
	}
	o := &options{}
	f := flags{pflag.NewFlagSet("bench", pflag.ContinueOnError), given("quick"), map[string][]string{}}
	f.SetOutput(os.Stderr)
	times, updates := 1, choose(f, 150, 60)
	if given("scale") {
		times, updates = 10, scaleUpdates
	}
	f.Bool("quick", false, "smaller defaults of all other flags; takes a few minutes")
	o.define(f, times, updates)
	if err := cmp.Or(f.Parse(args), f.validate()); err != nil {
		return nil, err
	}
	if len(o.scale) > 0 && o.stalled >= slices.Min(o.watchers) {
		return nil, errors.New("--stalled must be less than --watchers")
	}
	if o.listEvery <= 0 {
		return nil, errors.New("--list-every must be positive")
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
	f.numbers(&o.churns, "churn", []int{0, 50}, []int{0}, "`numbers` of updates per second during list cases")
	f.numbers(&o.clients, "clients", []int{1, 20}, []int{1}, "`numbers` of concurrent clients of lists")
	f.numbers(&o.watchers, "watchers", []int{1_000 * times}, []int{100 * times}, "`numbers` of watchers")
	f.number(&o.updates, "updates", updates, updates, "updates per fan-out and round")
	f.number(&o.rate, "rate", 20, 40, "updates per second")
	f.number(&o.lists, "consistent-lists", 30, 4, "consistent lists, one at a time")
	f.number(&o.gets, "gets", 600, 100, "gets of the most recent version, one at a time")
	f.BoolVar(&o.proofs, "proofs", false, "measure only the latency and upstream CPU of consistent reads")
	f.BoolVar(&o.abuse, "abuse", false,
		"measure only what an abusive user, attackers, a crowd of agents and a controller of many kinds cost")
	f.BoolVar(&o.projected, "projections", false, "measure only projected informers and watches")
	f.number(&o.users, "users", 5_000, 200, "users beside the abusive one")
	f.number(&o.agents, "agents", 10_000, 500, "agents of the crowd, each with a connection, for --abuse")
	f.DurationVar(&o.turns, "turns", 0,
		"how long one Sluice bears the attacks in turns, for --abuse; each is on a new one without it")
	f.Int64Var(&o.memory, "memory", 1<<30, "`bytes` of memory that a cgroup leaves this Sluice, and one with the crowd")
	f.number(&o.kinds, "kinds", 1_000, 50, "kinds that one controller watches, for --abuse")
	f.duration(&o.listEvery, "list-every", 30*time.Second, 10*time.Second, "time between two lists of a user, for --abuse")
	f.number(&o.abuseFactor, "abuse-factor", 100, 100, "how many times as often as a user the abusive one lists")
	f.duration(&o.abuseWindow, "abuse-window", 30*time.Second, 10*time.Second, "duration of each measurement of the users' lists")
	f.words(&o.scale, "scale", scaleSections, nil, nil, "measure only these `sections` with ten times as many --pods and --watchers")
	f.number(&o.configMaps, "configmaps", 300_000, 3_000, "ConfigMaps of 1 KB beside the pods, with --scale=cluster")
	f.number(&o.large, "large-configmaps", 10_000, 200, "ConfigMaps of 100 KB, with --scale=lists")
	f.number(&o.reports, "reports", 500, 10, "custom resources of 1.3 MB, with --scale=memory")
	f.number(&o.stalled, "stalled", 500, 50, "watchers that stop reading, with --scale=watches")
	f.numbers(&o.sizes, "sizes", []int{100, 1_000, 10_000}, []int{100, 1_000}, "`numbers` of pods for consistent reads")
	f.numbers(&o.readers, "readers", []int{1, 20, 200}, []int{1, 20}, "`numbers` of concurrent readers of consistent reads")
	f.number(&o.rounds, "rounds", 5, 1,
		"number of rounds, fewer for cases that take long; figures are their medians, with the spread behind them")
	f.duration(&o.window, "window", 500*time.Millisecond, 300*time.Millisecond, "minimum duration per list case, server and round")
	f.duration(&o.idle, "idle", 10*time.Second, 2*time.Second, "duration of the idle measurement")
	f.Var(&o.only, "only", "run only the cases that match this regular `expression`, such as \"json gzip x20\" or \"watch\"")
	f.StringVar(&o.dir, "dir", "", "keep the control plane in this `directory`; its pods are reused")
	f.StringVar(&o.json, "json", "", "also write the report to this `file`")
	f.StringVar(&o.from, "from", "", "print the report in this `file` instead of measuring")
}

// uses reports whether any case uses a format.
func (o *options) uses(format string) bool {
	return slices.Contains(slices.Concat(o.formats, o.streams, o.watches), format)
}

// expression is a flag; its zero value matches everything.
type expression struct{ regexp.Regexp }

// Type implements pflag.Value.
func (e *expression) Type() string { return "expression" }

// Set implements pflag.Value.
func (e *expression) Set(text string) error {
	re, err := regexp.Compile(text)
	if err == nil {
		e.Regexp = *re
	}
	return err
}

func (e *expression) matches(s string) bool { return e.Regexp.String() == "" || e.MatchString(s) }
