package see

import (
	"context"
	"encoding/json"
	"errors"
	"html"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"sluice/proxy/clients"
	"sluice/proxy/fault"
)

// process is a process whose metrics a test sets.
type process struct {
	*pages
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	objects  *prometheus.GaugeVec
	clients  *clients.Table
}

func newProcess(names bool) *process {
	p := &process{registry: prometheus.NewRegistry()}
	gauge := func(name string, labels ...string) *prometheus.GaugeVec {
		g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name}, labels)
		p.registry.MustRegister(g)
		return g
	}
	store := []string{"group", "version", "resource"}
	for name, value := range map[string]float64{
		"synced": 1, "connected": 1, "data_bytes": 58e6, "resource_version": 237118, "lag_seconds": 54, "proven_seconds": 0.009,
	} {
		g := gauge("sluice_store_"+name, store...)
		g.WithLabelValues("", "v1", "pods").Set(value)
		g.WithLabelValues("sbom.example", "v1", "reports").Set(value)
	}
	p.objects = gauge("sluice_store_objects", store...)
	p.objects.WithLabelValues("", "v1", "pods").Set(10006)
	gauge("sluice_watchers", store...).WithLabelValues("", "v1", "pods").Set(2204)
	gauge("sluice_config_last_reload_successful").WithLabelValues().Set(1)
	gauge("sluice_held_bytes", "ledger").WithLabelValues("users").Set(71e6)
	gauge("sluice_held_limit_bytes", "ledger").WithLabelValues("users").Set(1e9)
	p.requests = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sluice_request_total"},
		[]string{"verb", "group", "version", "resource", "code", "source", "reason"})
	p.registry.MustRegister(p.requests)
	o := Options{
		Version: "v0.9", Gather: p.registry.Gather, Stopping: func() bool { return false },
		Upstream: func() Upstream { return Upstream{Address: "https://apiserver:6443", Probed: true} },
	}
	if names {
		o.Heaviest = func(string) string { return `user:<script>canary()</script>` }
	}
	p.clients = clients.NewTable()
	o.Clients, o.Names = p.clients, names
	p.pages = &pages{NewSampler(o)}
	p.registry.MustRegister(p.Collectors()...)
	return p
}

// read counts n lists of pods.
func (p *process) read(source, code string, n float64) {
	p.requests.WithLabelValues("LIST", "", "v1", "pods", code, source, "any-version").Add(n)
}

func (p *process) get(t *testing.T, path string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	p.handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w
}

var shownCells = regexp.MustCompile(`(?s)<th scope="row"[^>]*>(.*?)</th>|<td data-label="([^"]*)"[^>]*>(.*?)</td>|<dt>(.*?)</dt><dd[^>]*>(.*?)</dd>`)

// cells returns the texts of a page: by row and column of a table, or by the name of a figure.
func (p *process) cells(t *testing.T, path string) map[string]string {
	t.Helper()
	w := p.get(t, path)
	if w.Code != http.StatusOK {
		t.Fatalf("%s: %d", path, w.Code)
	}
	plain := func(s string) string {
		return strings.TrimSpace(html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(s, "")))
	}
	all, row := map[string]string{}, ""
	for _, found := range shownCells.FindAllStringSubmatch(w.Body.String(), -1) {
		switch {
		case found[1] != "":
			row = plain(found[1])
		case found[2] != "":
			all[row+"/"+found[2]] = plain(found[3])
		default:
			all[plain(found[4])] = plain(found[5])
		}
	}
	return all
}

// value returns a metric as /metrics shows it.
func (p *process) value(t *testing.T, name, resource string) (v float64) {
	t.Helper()
	families, err := p.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	newReading(families).each(name, func(l labels, value float64) {
		if l.of("resource") == resource {
			v += value
		}
	})
	return v
}

// TestPageShowsTheMetrics: a version stands as requests have it, to be copied.
func TestPageShowsTheMetrics(t *testing.T) {
	version := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	p := newProcess(true)
	p.read("cache", "200", 99)
	cells := p.cells(t, "/")
	var status Status
	if err := json.Unmarshal(p.get(t, "/see/v1alpha1/status").Body.Bytes(), &status); err != nil {
		t.Fatal(err)
	}
	pods := status.Resources[0]
	for _, tt := range []struct {
		metric, key string
		format      func(float64) string
		json        float64
	}{
		{"sluice_store_objects", "objects", count, pods.Objects}, {"sluice_store_data_bytes", "memory", size, pods.Bytes},
		{"sluice_store_resource_version", "version", version, pods.Version}, {"sluice_watchers", "watches", count, pods.Watches},
		{"sluice_store_lag_seconds", "heard", seconds, *pods.HeardSeconds},
		{"sluice_store_proven_seconds", "proven", seconds, *pods.ProvenSeconds},
	} {
		v := p.value(t, tt.metric, "pods")
		if got := cells["pods.v1/"+tt.key]; v == 0 || got != tt.format(v) || tt.json != v {
			t.Errorf("%s is %v; the page shows %q, JSON %v", tt.metric, v, got, tt.json)
		}
	}
	scarce := p.cells(t, "/limits")
	if scarce["memory of users/used"] != size(71e6) || scarce["memory of users/full"] != "7.1\u00a0%" {
		t.Errorf("limits: %v", scarce)
	}
	if own := p.cells(t, "/r/reports.v1.sbom.example"); own["version"] != cells["pods.v1/version"] {
		t.Errorf("page of a resource: %v", own)
	}
	if code := p.get(t, "/r/secrets.v1").Code; code != http.StatusNotFound {
		t.Errorf("page of an unknown resource: %d", code)
	}
	if status.State != stateWell || p.value(t, "sluice_status", "") != 1 {
		t.Errorf("state %s, %v of sluice_status", status.State, p.value(t, "sluice_status", ""))
	}
}

// A share is of successful reads, over five minutes.
func TestRatesAreOfTheLastMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProcess(false)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); _ = p.Run(ctx) }()
		p.read("cache", "200", 1e6) // long ago
		for range 80 {
			time.Sleep(step / 2) // between two samples
			p.read("cache", "200", 30)
			p.read("upstream", "200", 15)
			p.read("upstream", "403", 1500) // by anybody
			time.Sleep(step / 2)
			synctest.Wait()
		}
		f := p.Facts()
		if r := f.Resources[0].Reads; number(r.ServedPerSec) != "2.0" || number(r.PassedPerSec) != "1.0" || *f.Reads.ListsPassed > 0.34 {
			t.Errorf("%v and %v reads per second, %v of lists pass", r.ServedPerSec, r.PassedPerSec, *f.Reads.ListsPassed)
		}
		if f.Others.ServedPerSec+f.Others.PassedPerSec > 1e-9 {
			t.Errorf("rows and the rest are more than all: %+v", f.Others)
		}
		stop()
		<-done
	})
}

// The gateway deletes the counters of a resource that the apiserver no longer serves; they begin at 0 if it comes back.
func TestDeletedCountersChangeNoShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProcess(false)
		report := []string{"LIST", "sbom.example", "v1", "reports", "200"}
		served := p.requests.WithLabelValues(append(report, "cache", "any-version")...)
		served.Add(1e6)
		p.read("cache", "200", 900)
		p.read("upstream", "200", 100)
		p.sample(true)
		time.Sleep(step)
		p.requests.DeletePartialMatch(prometheus.Labels{"resource": "reports"})
		p.read("cache", "200", 300)
		p.read("upstream", "200", 100)
		if f := p.Facts(); f.Reads.ListsPassed == nil || *f.Reads.ListsPassed != 0.25 || number(f.Reads.ServedPerSec) != "20.0" {
			t.Errorf("counters are gone: %+v", f.Reads)
		}
		p.requests.WithLabelValues(append(report, "upstream", "unknown-caller")...).Add(400)
		time.Sleep(fresh)
		if f := p.Facts(); *f.Reads.ListsPassed != 0.625 || f.PassedBecause != "unknown-caller" {
			t.Errorf("counters are back: %v of lists pass, by %s", *f.Reads.ListsPassed, f.PassedBecause)
		}
	})
}

// A gather that fails for the stores says nothing of them: an old mismatch is not new once it succeeds again.
func TestFailedGatherMakesNoMismatch(t *testing.T) {
	for _, missing := range []string{"sluice_store_", "sluice_store_mismatches_total"} {
		synctest.Test(t, func(t *testing.T) {
			p := newProcess(false)
			mismatches := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sluice_store_mismatches_total"},
				[]string{"group", "version", "resource"})
			p.registry.MustRegister(mismatches)
			gather, fails := p.options.Gather, false
			p.options.Gather = func() ([]*dto.MetricFamily, error) {
				families, err := gather()
				if fails {
					err = errors.New("not gathered")
					families = slices.DeleteFunc(families, func(f *dto.MetricFamily) bool { return strings.HasPrefix(f.GetName(), missing) })
				}
				return families, err
			}
			state := func() string { time.Sleep(step); return Judge(p.Facts()).State }
			pods := mismatches.WithLabelValues("", "v1", "pods")
			for _, want := range []string{stateWrong, stateWrong} {
				pods.Inc()
				if got := state(); got != want {
					t.Errorf("a store that differs: %s", got)
				}
				time.Sleep(time.Hour)
				fails = true
				state()
				fails = false
				if got := state(); got == stateWrong {
					t.Errorf("without %s for one sample: %s", missing, got)
				}
			}
		})
	}
}

// away is an apiserver that has answered before.
var away = Upstream{Probed: true, Error: "refused", Fault: fault.Of(errors.New("refused"), true)}

// TestResourcesAreNotCalledServedInAnOutage, and reviews that fail for it are no fault of rights.
func TestResourcesAreNotCalledServedInAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProcess(false)
		reviews := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "sluice_reviews_total"}, []string{"result"})
		p.registry.MustRegister(reviews)
		up := p.options.Upstream
		p.sample(true)
		for _, want := range []struct{ cell, state string }{{"any version only", stateAway}, {"served", stateWell}, {"served", "unsure"}} {
			p.options.Upstream = up
			if want.state == stateAway {
				p.options.Upstream = func() Upstream { return away }
			}
			reviews.WithLabelValues("failed").Inc() // in the outage, before its end was noticed, and then for another reason
			time.Sleep(fresh)
			if cell, state := p.cells(t, "/")["pods.v1/state"], Judge(p.Facts()).State; cell != want.cell || state != want.state {
				t.Errorf("%q in state %s, want %+v", cell, state, want)
			}
		}
	})
}

// An open page shows the runbook of the state that it shows.
func TestRunbookIsThatOfTheState(t *testing.T) {
	p := newProcess(false)
	const link = `<a href="/see/docs/deploying.html#sluicecannotuseapiserver">Runbook</a>`
	if page := p.get(t, "/limits").Body.String(); strings.Contains(page, "Runbook") {
		t.Errorf("well: a runbook in %s", page)
	}
	p.last, p.options.Upstream = nil, func() Upstream { return away }
	if page := p.get(t, "/limits").Body.String(); !strings.Contains(page, link) {
		t.Errorf("away: no link to the runbook in %s", page)
	}
}

// What anybody can cause, and what must pass, is no share of what the cache should serve.
func TestSharesAreOfWhatTheCacheShouldServe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProcess(false)
		passed := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "sluice_passed_watchers"}, []string{"group", "version", "resource", "reason"})
		p.registry.MustRegister(passed)
		passed.WithLabelValues("", "v1", "pods", "not-in-sync").Set(2)
		passed.WithLabelValues("", "v1", "pods", "unknown-caller").Set(500)
		p.sample(true)
		time.Sleep(step)
		p.read("cache", "200", 3)
		p.read("upstream", "200", 1)
		for _, verb := range []string{"LIST", "WATCH"} {
			p.requests.WithLabelValues(verb, "other", "other", "other", "204", "upstream", "not-in-sync").Add(1000)
		}
		cells := p.cells(t, "/")
		if cells["of these, should be served"] != "2" || cells["pods.v1/passed watches"] != "2" {
			t.Errorf("%s watches pass, %s of them of pods", cells["of these, should be served"], cells["pods.v1/passed watches"])
		}
		if f := p.Facts(); *f.Reads.ListsPassed != 0.25 || cells["served from memory"] != percent(0.75) || f.Requests != 2004 {
			t.Errorf("%v of lists pass, %s of reads are served, %v requests", *f.Reads.ListsPassed, cells["all/served"], f.Requests)
		}
	})
}

func TestNoScriptOfOthersRuns(t *testing.T) {
	p := newProcess(true)
	w := p.get(t, "/limits")
	if strings.Contains(w.Body.String(), "<script>canary") || !strings.Contains(w.Body.String(), "canary") {
		t.Error("the name of a user is not shown as text")
	}
	for _, path := range []string{"/", "/limits", "/r/pods.v1", "/see/v1alpha1/status", "/see/style.css", "/see/live.js"} {
		w := p.get(t, path)
		if w.Code != http.StatusOK || w.Header().Get("Content-Security-Policy") != policy || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %v", path, w.Code, w.Header())
		}
		if text := w.Body.String(); regexp.MustCompile(`<script>|<style|\son\w+=|\sstyle=|https?://(?:[^a]|a[^p])`).MatchString(text) {
			t.Errorf("%s has something inline, or of another server", path)
		}
	}
	if n := p.get(t, "/see/live.js").Body.Len(); n > 4096 {
		t.Errorf("the script has %d bytes", n)
	}
}

func TestValuesAreWrittenWithTheirUnits(t *testing.T) {
	for want, got := range map[string]string{
		"10\u202f006": count(10006), "237\u202f118": count(237118), "0": count(0), "58\u00a0MB": size(58e6), "160\u00a0GB": size(160e9),
		"9\u00a0ms": seconds(0.009), "54\u00a0s": seconds(54), "3\u00a0d": seconds(3 * 86400), "99.9\u00a0%": percent(0.99999), "100\u00a0%": percent(1),
		"0.31": number(0.312), "88.1": number(88.1), "412": number(412.3), "–": optional(nil, number),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
