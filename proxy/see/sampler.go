package see

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	dto "github.com/prometheus/client_model/go"
	"k8s.io/apimachinery/pkg/util/wait"

	"sluice/proxy/clients"
	"sluice/proxy/limits"
	"sluice/proxy/why"
)

const (
	step  = 15 * time.Second // between two points
	steps = 40               // points that are kept, for ten minutes
	fresh = 2 * time.Second  // how long Facts are shown before they are gathered again
	// ratesOver is the time over which rates are taken.
	ratesOver = 5 * time.Minute
)

// Options configures a Sampler. All but Heaviest, Clients, Stalled and Kept are required.
type Options struct {
	Version string
	// Gather returns the metrics of the process.
	Gather func() ([]*dto.MetricFamily, error)
	// Upstream describes the connection to the apiserver, without FailingSeconds.
	Upstream func() Upstream
	// Stopping reports whether the process is being shut down.
	Stopping func() bool
	// Heaviest returns the name of the group of callers that holds most of a ledger. Nil shows no names of callers.
	Heaviest func(ledger string) string
	// Clients counts the costs of clients; nil shows none. Names are shown if Names is set.
	Clients *clients.Table
	Names   bool
	// Stalled returns the names of the resources for which a read has waited in vain, and no proof has succeeded since; nil
	// names none.
	Stalled func() []string
	// Kept has the last requests; nil shows none.
	Kept *why.Ring
}

// Sampler makes Facts of metrics. It can be used concurrently.
type Sampler struct {
	options Options
	started time.Time
	state   atomic.Pointer[string]

	mu         sync.Mutex // guards the fields below; held while metrics are gathered
	ring       []point    // every step, the oldest first
	last       *Facts
	stores     map[string]*storeTimes
	unusable   bool      // the apiserver, at the last sample
	failedAway float64   // reviews that had failed by the end of the last outage
	failed     time.Time // since when the apiserver has not answered; zero while it answers
	asked      float64   // the last number of requests
	askedAt    time.Time // when it changed
}

// point has the counters of one moment.
type point struct {
	at time.Time
	totals
}

// storeTimes are the times of a store, which metrics do not have.
type storeTimes struct {
	unsynced, lost, mismatched time.Time // zero if it is in sync, if its watch is open, or if it never differed
	mismatches                 float64
}

// NewSampler returns a Sampler.
func NewSampler(o Options) *Sampler {
	now := time.Now()
	return &Sampler{options: o, started: now, askedAt: now, stores: map[string]*storeTimes{}}
}

// Run takes a point of each series every step until ctx ends. It always returns nil.
func (s *Sampler) Run(ctx context.Context) error {
	wait.NonSlidingUntilWithContext(ctx, func(context.Context) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.sample(true)
	}, step)
	return nil
}

// Facts returns the facts of now, or of a moment ago.
func (s *Sampler) Facts() *Facts {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil || time.Since(s.last.At) >= fresh {
		s.sample(false)
	}
	return s.last
}

// State returns the state at the last sample; empty before the first. It gathers no metrics, and may be called meanwhile.
func (s *Sampler) State() string {
	if state := s.state.Load(); state != nil {
		return *state
	}
	return ""
}

// sample gathers metrics. It keeps them as a point of the series if keep is set.
func (s *Sampler) sample(keep bool) {
	families, err := s.options.Gather() // without metrics that cannot be gathered, as a scrape
	r := newReading(families)
	now := point{time.Now(), r.totals()}
	s.last = s.facts(r, now)
	if err == nil { // else a store whose metrics are missing may still be there
		s.forget()
	}
	s.state.Store(new(Judge(s.last).State))
	if keep {
		s.ring = append(s.ring, now)
		s.ring = s.ring[max(0, len(s.ring)-steps-1):]
	}
}

// before returns the oldest point that is not older than d; now itself if there is none.
func (s *Sampler) before(now point, d time.Duration) point {
	for _, p := range s.ring {
		if now.at.Sub(p.at) <= d+step/2 {
			return p
		}
	}
	return now
}

func (s *Sampler) facts(r reading, now point) *Facts {
	f := &Facts{
		At: now.at, Version: s.options.Version, UpSeconds: now.at.Sub(s.started).Seconds(), Stopping: s.options.Stopping(),
		Upstream: s.upstream(now.at), Requests: now.requests, MemoryBytes: r.sum("process_resident_memory_bytes", nil),
		Saved:          Saved{Prices: clients.PricesOf},
		Watches:        r.sum("sluice_watchers", nil),
		PassedWatches:  r.sum("sluice_passed_watchers", unserved),
		AllPassed:      r.sum("sluice_passed_watchers", nil),
		ConfigOutdated: r.sum("sluice_config_last_reload_successful", nil) == 0,
		ClockSeconds:   r.sum("sluice_upstream_clock_seconds", nil),
		ReviewsFailed:  max(0, now.failed-max(s.failedAway, s.before(now, time.Minute).failed)),
		AuditLost:      max(0, now.lost-s.before(now, 10*time.Minute).lost),
	}
	if s.unusable || f.Upstream.Fault.State != "" { // until the first sample after an outage, which is the cause of failed reviews
		s.failedAway, f.ReviewsFailed = now.failed, 0
	}
	s.unusable = f.Upstream.Fault.State != ""
	if now.requests != s.asked {
		s.asked, s.askedAt = now.requests, now.at
	}
	f.IdleSeconds = now.at.Sub(s.askedAt).Seconds()
	if base := s.before(now, 2*step); now.at.After(base.at) {
		f.RefusedPerSec = max(0, now.refused-base.refused) / now.at.Sub(base.at).Seconds()
	}
	base := s.before(now, ratesOver)
	if d := now.at.Sub(base.at).Seconds(); d > 0 {
		f.CPUCores = new((now.cpu - base.cpu) / d)
		f.Saved.BytesPerSec, f.Saved.AllBytesPerSec = now.cached.since(base.cached, "")/d, now.bytes.since(base.bytes, "")/d
		f.DeniedPerSec = max(0, now.denied-base.denied) / d
		f.Saved.Cores, f.Saved.SpentCores = now.avoided.since(base.avoided, "")/d, now.spent.since(base.spent, "")/d
	}
	f.Reads = now.reads(base, "")
	served, passed := now.listsServed.since(base.listsServed, ""), now.listsPassed.since(base.listsPassed, "")
	if served+passed > 0 {
		f.Reads.ListsPassed = new(passed / (served + passed))
	}
	reasons := map[string]float64{}
	for of, n := range now.reasons {
		reasons[of.reason] += increase(n, base.reasons[of])
	}
	f.PassedBecause = most(reasons)
	s.resources(f, r, now, base)
	f.Limits = s.limits(r)
	return f
}

func (s *Sampler) upstream(now time.Time) Upstream {
	u := s.options.Upstream()
	if u.Error == "" || !u.Probed {
		s.failed = time.Time{}
		return u
	}
	if s.failed.IsZero() {
		s.failed = now
	}
	u.FailingSeconds = now.Sub(s.failed).Seconds()
	return u
}

// reads returns the rates of a resource since base; those of all of them without a name.
func (now point) reads(base point, name string) (r Reads) {
	if d := now.at.Sub(base.at).Seconds(); d > 0 {
		r.ServedPerSec, r.PassedPerSec = now.served.since(base.served, name)/d, now.passed.since(base.passed, name)/d
	}
	return r
}

// resources adds the resources that have a store, or shall have one.
func (s *Sampler) resources(f *Facts, r reading, now, base point) {
	all := map[string]*Resource{}
	r.each("sluice_store_synced", func(l labels, v float64) {
		name := l.resource()
		all[name] = &Resource{Name: name, Synced: v == 1, Passed: map[string]float64{}}
	})
	set := func(metric string, to func(*Resource, labels, float64)) {
		r.each(metric, func(l labels, v float64) {
			if known := all[l.resource()]; known != nil {
				to(known, l, v)
			}
		})
	}
	set("sluice_store_forbidden", func(to *Resource, _ labels, v float64) { to.Forbidden = v == 1 })
	set("sluice_store_connected", func(to *Resource, _ labels, v float64) { to.Connected = v == 1 })
	set("sluice_store_objects", func(to *Resource, _ labels, v float64) { to.Objects = v })
	set("sluice_store_data_bytes", func(to *Resource, _ labels, v float64) { to.Bytes = v })
	set("sluice_store_history_bytes", func(to *Resource, _ labels, v float64) { to.HistoryBytes = v })
	set("sluice_store_resource_version", func(to *Resource, _ labels, v float64) { to.Version = v })
	set("sluice_store_lag_seconds", func(to *Resource, _ labels, v float64) { to.HeardSeconds = &v })
	set("sluice_store_proven_seconds", func(to *Resource, _ labels, v float64) { to.ProvenSeconds = &v })
	set("sluice_store_mismatches_total", func(to *Resource, _ labels, v float64) {
		to.Mismatches = v
		s.times(to.Name).count(v, now.at)
	})
	set("sluice_watchers", func(to *Resource, _ labels, v float64) { to.Watches = v })
	set("sluice_passed_watchers", func(to *Resource, l labels, v float64) {
		if unserved(l) {
			to.PassedWatches += v
		}
	})
	set("sluice_request_total", func(to *Resource, l labels, v float64) {
		if reads[l.of("verb")] && l.of("source") == "upstream" && strings.HasPrefix(l.of("code"), "2") {
			to.Passed[l.of("reason")] += v
		}
	})
	var cachedServed, cachedPassed float64
	if s.options.Stalled != nil {
		for _, name := range s.options.Stalled() {
			if to := all[name]; to != nil {
				to.Stalled = true
			}
		}
	}
	for name, to := range all {
		s.since(to, now.at)
		to.Reads = now.reads(base, name)
		cachedServed += to.Reads.ServedPerSec
		cachedPassed += to.Reads.PassedPerSec
		f.Resources = append(f.Resources, *to)
	}
	f.Others.ServedPerSec = max(0, f.Reads.ServedPerSec-cachedServed)
	f.Others.PassedPerSec = max(0, f.Reads.PassedPerSec-cachedPassed)
	slices.SortFunc(f.Resources, func(a, b Resource) int { return strings.Compare(a.Name, b.Name) })
}

// forget removes the times of stores that are gone.
func (s *Sampler) forget() {
	maps.DeleteFunc(s.stores, func(name string, _ *storeTimes) bool {
		_, found := slices.BinarySearchFunc(s.last.Resources, name, func(r Resource, name string) int {
			return strings.Compare(r.Name, name)
		})
		return !found
	})
}

// times returns the times of a store.
func (s *Sampler) times(name string) *storeTimes {
	if s.stores[name] == nil {
		s.stores[name] = &storeTimes{}
	}
	return s.stores[name]
}

// count notes when the counter of mismatches has grown.
func (t *storeTimes) count(mismatches float64, now time.Time) {
	if increase(mismatches, t.mismatches) > 0 {
		t.mismatched = now
	}
	t.mismatches = mismatches
}

// since sets since when a store is as it is.
func (s *Sampler) since(r *Resource, now time.Time) {
	t := s.times(r.Name)
	began := func(at *time.Time, holds bool) float64 {
		if !holds {
			*at = time.Time{}
			return 0
		}
		if at.IsZero() {
			*at = now
		}
		return now.Sub(*at).Seconds()
	}
	r.UnsyncedSeconds = began(&t.unsynced, !r.Synced)
	r.LostSeconds = began(&t.lost, !r.Connected)
	if ago := now.Sub(t.mismatched); !t.mismatched.IsZero() && ago < time.Hour {
		r.MismatchedSeconds = new(ago.Seconds())
	}
}

// limits returns everything that is scarce.
func (s *Sampler) limits(r reading) (all []Limit) {
	of := func(metric, name string) float64 {
		return r.sum(metric, func(l labels) bool { return l.of("ledger") == name })
	}
	for _, ledger := range []string{limits.UsersLedger, limits.UnauthenticatedLedger} {
		l := Limit{
			Name: "memory of " + ledger, Unit: "bytes", SetBy: "limits.memory", Used: of("sluice_held_bytes", ledger),
			Total: of("sluice_held_limit_bytes", ledger), Largest: new(of("sluice_held_largest_bytes", ledger)),
			Refused: new(of("sluice_held_refused_total", ledger)),
		}
		if s.options.Heaviest != nil && l.Used > 0 {
			l.By = s.options.Heaviest(ledger)
		}
		all = append(all, l)
	}
	for _, l := range []struct{ name, unit, used, total, setBy string }{
		{"memory of the process", "bytes", "sluice_memory_used_bytes", "sluice_memory_limit_bytes", "limits.memory"},
		{"memory of stores", "bytes", "sluice_stores_bytes", "sluice_stores_limit_bytes", "cache.maxBytes"},
		{"encoded objects", "bytes", "sluice_encoded_bytes", "sluice_encoded_limit_bytes", "cache.encodedBytes, or what the rest of the memory leaves"},
	} {
		all = append(all, Limit{
			Name: l.name, Unit: l.unit, Used: r.sum(l.used, nil), Total: r.sum(l.total, nil),
			Cache: l.used == "sluice_encoded_bytes", SetBy: l.setBy,
		})
	}
	for _, q := range []struct{ queue, name, setBy string }{
		{"apiserver", "places at the apiserver", "limits.seats"},
		{"unauthenticated", "places of unauthenticated callers at the apiserver", ""},
		{"cpu", "long responses at work", "the CPUs"},
	} {
		is := func(l labels) bool { return l.of("queue") == q.queue }
		all = append(all, Limit{
			Name: q.name, Unit: "places", Used: r.sum("sluice_queue_taken", is), Total: r.sum("sluice_queue_places", is), SetBy: q.setBy,
		})
	}
	return all
}
