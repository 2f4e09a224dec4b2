package see

import (
	"strings"

	dto "github.com/prometheus/client_model/go"

	"sluice/proxy/clients"
	"sluice/proxy/limits"
)

// reading is all metrics of the process at one moment.
type reading map[string]*dto.MetricFamily

func newReading(families []*dto.MetricFamily) reading {
	r := make(reading, len(families))
	for _, f := range families {
		r[f.GetName()] = f
	}
	return r
}

// labels are the labels of one series.
type labels []*dto.LabelPair

// of returns the value of a label; empty if there is none.
func (l labels) of(name string) string {
	for _, pair := range l {
		if pair.GetName() == name {
			return pair.GetValue()
		}
	}
	return ""
}

// resource returns the name of the resource that the labels name, such as deployments.v1.apps.
func (l labels) resource() string {
	return strings.TrimSuffix(l.of("resource")+"."+l.of("version")+"."+l.of("group"), ".")
}

// each calls do for each series of a counter or gauge.
func (r reading) each(metric string, do func(l labels, v float64)) {
	for _, m := range r[metric].GetMetric() {
		do(m.GetLabel(), m.GetCounter().GetValue()+m.GetGauge().GetValue()) // at most one of the two is set
	}
}

// unserved selects open watches that the cache should serve, as the alert SluiceWatchesPass does.
func unserved(l labels) bool {
	switch l.of("reason") {
	case "not-in-sync", "version-before-history", "version-not-reached", "not-proven-in-time":
		return true
	}
	return false
}

// sum returns the sum of the series of a metric that are selected; nil selects all.
func (r reading) sum(metric string, selects func(labels) bool) (sum float64) {
	r.each(metric, func(l labels, v float64) {
		if selects == nil || selects(l) {
			sum += v
		}
	})
	return sum
}

// increase returns by how much a counter has grown. One that is below its old value was deleted, and began anew.
func increase(now, old float64) float64 {
	if now < old {
		return now
	}
	return now - old
}

// amounts are counters by the name of the resource: a sum would fall when those of one resource are deleted.
type amounts map[string]float64

// since returns the increase of the one with a name, of all of them without a name.
func (a amounts) since(old amounts, name string) (sum float64) {
	if name != "" {
		return increase(a[name], old[name])
	}
	for name, v := range a {
		sum += increase(v, old[name])
	}
	return sum
}

// passedFor names counters of lists that pass.
type passedFor struct{ resource, reason string }

// totals are the counters of which rates are shown.
type totals struct {
	served, passed           amounts // successful reads
	listsServed, listsPassed amounts // the same, without those that pass because that is cheaper
	reasons                  map[passedFor]float64
	requests                 float64
	refused                  float64 // of authenticated callers, by limits
	denied                   float64 // by the apiserver: 401, 403 and 429
	failed                   float64 // reviews
	lost                     float64 // audit events
	cpu                      float64 // seconds
	avoided                  amounts // seconds of the apiserver's CPU
	spent                    amounts // the same, for Sluice's own requests
	cached                   amounts // bytes from the cache
	bytes                    amounts // all bytes
}

// reads are the verbs that the cache may serve.
var reads = map[string]bool{"GET": true, "LIST": true, "WATCH": true}

// other names the resource of requests that prove none, such as preflight requests by anybody. No API group has the name.
const other = "other"

// cheaper are reasons to pass that spare the apiserver work.
var cheaper = map[string]bool{"small-read": true, "get-latest": true, "not-a-read": true}

// byAnybody are refusals that callers without credentials can cause.
var byAnybody = map[string]bool{
	"too-many-unauthenticated": true, "too-many-headers": true,
}

func (r reading) totals() totals {
	t := totals{
		served: amounts{}, passed: amounts{}, listsServed: amounts{}, listsPassed: amounts{}, reasons: map[passedFor]float64{},
		avoided: amounts{}, spent: amounts{}, cached: amounts{}, bytes: amounts{},
	}
	t.costs(r)
	r.each("sluice_request_total", func(l labels, v float64) {
		t.requests += v
		reason := l.of("reason")
		if l.of("source") == "gateway" && (reason == limits.TooMuch || strings.HasPrefix(reason, "too-many-")) && !byAnybody[reason] {
			t.refused += v
		}
		if code := l.of("code"); l.of("source") == "upstream" && (code == "401" || code == "403" || code == "429") {
			t.denied += v
		}
		if !reads[l.of("verb")] || l.of("resource") == "" || l.of("group") == other || !strings.HasPrefix(l.of("code"), "2") {
			return
		}
		name, to, lists := l.resource(), t.passed, t.listsPassed
		if l.of("source") == "cache" {
			to, lists = t.served, t.listsServed
		}
		to[name] += v
		if l.of("verb") == "LIST" && !cheaper[reason] {
			lists[name] += v
			if l.of("source") != "cache" {
				t.reasons[passedFor{name, reason}] += v
			}
		}
	})
	t.failed = r.sum("sluice_reviews_total", func(l labels) bool { return l.of("result") == "failed" })
	t.lost = r.sum("sluice_audit_events_total", func(l labels) bool { return l.of("result") != "written" })
	t.cpu = r.sum("process_cpu_seconds_total", nil)
	return t
}

// costs takes the savings of the apiserver, and their price.
func (t *totals) costs(r reading) {
	add := func(to amounts, metric string, price func(float64) float64) {
		r.each(metric, func(l labels, v float64) { to[l.resource()+metric] += price(v) })
	}
	seconds := func(v float64) float64 { return v }
	add(t.avoided, "sluice_avoided_upstream_cpu_seconds_total", seconds)
	add(t.spent, "sluice_store_proof_seconds_total", seconds)
	add(t.spent, "sluice_store_lent_seconds_total", seconds)
	add(t.spent, "sluice_store_received_total", clients.EventsWorth)
	add(t.spent, "sluice_reviews_total", clients.ReviewsWorth)
	r.each("sluice_response_bytes_total", func(l labels, v float64) {
		if l.of("stage") != "encoded" {
			return
		}
		t.bytes[l.resource()] += v
		if l.of("source") == "cache" {
			t.cached[l.resource()] += v
		}
	})
}
