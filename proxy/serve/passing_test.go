package serve

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"

	"sluice/cache/tree"
	"sluice/codec/negotiate"
	"sluice/proxy/flowcontrol"
	"sluice/proxy/limits"
	"sluice/proxy/request"
	"sluice/proxy/resources"
	"sluice/proxy/serve/fresh"
	"sluice/proxy/serve/outcome"
	"sluice/test/support/servetest"
)

func TestReadsThatCostTheApiserverTakePlacesByTheirSize(t *testing.T) {
	list, streaming := passFacts{verb: negotiate.List}, passFacts{verb: negotiate.Watch, initialEvents: true}
	cached := passFacts{verb: negotiate.Watch, initialEvents: true, cached: true}
	get, watch := passFacts{verb: negotiate.Get}, passFacts{verb: negotiate.Watch}
	for _, row := range []struct {
		read    passFacts
		reasons []outcome.Pass
		counts  bool
	}{
		// Of the same reads, all reasons that do not last count, and those of resources without a store.
		{list, []outcome.Pass{resources.NotInSync, resources.NotRunning, outcome.NotReviewed, outcome.NotProvenInTime, outcome.VersionNotReached, outcome.VersionBeforeHistory}, true},
		{list, []outcome.Pass{resources.StoresTooLarge, outcome.LargeSelector}, true},
		{streaming, []outcome.Pass{resources.NotInSync, outcome.NotProvenInTime, outcome.LargeSelector}, true},
		// A watch that begins with them costs as much whatever the reason, unless the apiserver refuses it.
		{cached, []outcome.Pass{outcome.NotARead, outcome.UnservedOptions, outcome.UnservedFormat}, true},
		{cached, []outcome.Pass{outcome.NotAllowed, outcome.UnknownCaller}, false},
		{streaming, []outcome.Pass{outcome.NotARead, outcome.UnservedOptions, resources.Excluded, outcome.UnservedFormat}, false},
		// These cost the apiserver next to nothing.
		{get, []outcome.Pass{resources.NotInSync, outcome.NotProvenInTime, outcome.VersionNotReached}, false},
		{watch, []outcome.Pass{resources.NotInSync, outcome.NotProvenInTime, outcome.VersionBeforeHistory}, false},
		// The cache would show these in no other state of a store.
		{list, []outcome.Pass{outcome.UnservedOptions, outcome.UnservedFormat, outcome.NotAllowed, resources.Excluded, resources.NotCacheable}, false},
	} {
		for _, reason := range row.reasons {
			f := row.read
			if f.reason = reason; f.counts() != row.counts {
				t.Errorf("%+v counts: %v", f, f.counts())
			}
		}
	}
}

func TestAListTakesAtMostAQuarterOfThePlaces(t *testing.T) {
	h := &Handler{options: Options{Queue: limits.NewQueue(900, 225)}}
	for bytes, want := range map[int64]int{0: 1, placeBytes - 1: 1, 10 * placeBytes: 11, 1 << 40: 225} {
		if got := h.places(bytes); got != want {
			t.Errorf("%d bytes take %d places", bytes, got)
		}
	}
}

// herd is many readers at once, and an apiserver that takes a second for each that passes.
type herd struct {
	*env
	readers sync.WaitGroup
	header  http.Header // of its requests

	mu      sync.Mutex // guards what follows
	results map[string]int
	retries map[string]bool // values of Retry-After
	refused []time.Time
	running int
	peak    int
}

// One read passes at a time, and one of a system caller.
func newHerd(e *env) *herd {
	h := &herd{env: e, results: map[string]int{}, retries: map[string]bool{}}
	e.handler.options.Queue = limits.NewQueue(2, 1)
	e.handler.options.Next = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		h.change(func() { h.running++; h.peak = max(h.peak, h.running) })
		time.Sleep(time.Second)
		h.change(func() { h.running-- })
	})
	return h
}

// sink is a client that keeps nothing of a body.
type sink struct {
	header http.Header
	code   int
}

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) WriteHeader(code int)        { s.code = code }
func (s *sink) Write(p []byte) (int, error) { return len(p), nil }
func (s *sink) Flush()                      {}

func (h *herd) change(what func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	what()
}

// read starts n reads by a caller.
func (h *herd) read(n int, url string, caller user.Info) {
	for range n {
		r := h.Request(url, h.header.Clone())
		request.From(r.Context()).Acting = caller
		h.readers.Go(func() {
			w := &sink{header: http.Header{}}
			h.handler.ServeHTTP(w, r)
			outcome := request.From(r.Context()).Outcome
			result := "passed: " + outcome.Reason
			switch {
			case w.code == http.StatusTooManyRequests:
				result = "refused: " + outcome.Reason
				h.change(func() { h.refused = append(h.refused, time.Now()) })
			case outcome.Source == request.SourceCache:
				result = "served: " + outcome.Reason
			}
			h.change(func() { h.results[result]++; h.retries[w.header.Get("Retry-After")] = true })
		})
	}
}

// expect waits for all readers and compares what they have received.
func (h *herd) expect(t *testing.T, peak int, want map[string]int) {
	t.Helper()
	h.readers.Wait()
	if fmt.Sprint(h.results) != fmt.Sprint(want) || h.peak != peak {
		t.Errorf("%v, at most %d pass at once, want %v, %d", h.results, h.peak, want, peak)
	}
	if _, taken, waiting := h.handler.options.Queue.Numbers(); taken+waiting > 0 {
		t.Errorf("%d places are taken, and %d reads wait, after their reads have ended", taken, waiting)
	}
}

// stalled returns a herd of readers of a store whose events do not come.
func stalled(t *testing.T) *herd {
	e := newEnv(t, servetest.HugeFoos(3), Options{})
	e.Apiserver.Set(9, 0)
	return newHerd(e)
}

func TestReadersOfAStalledStoreShareItsInventory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := stalled(t)
		present := []*tree.Object{servetest.Foo(0, 1), servetest.Foo(1, 2), servetest.Foo(2, 3)}
		time.AfterFunc(fresh.ProofLimit+100*time.Millisecond, func() { h.Apiserver.SetListed(9, present...) })
		h.read(100, servetest.FooList, nil)
		h.expect(t, 1, map[string]int{"passed: not-proven-in-time": 1, "served: roll-call": 99})
		if n := len(h.Apiserver.Scopes()); n > 2 { // of such a small resource it is called instead of a probe, too
			t.Errorf("an inventory is taken %d times", n)
		}
	})
}

func TestReadersThatNothingHelpsAreRefusedAtDifferentTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := stalled(t)
		start := time.Now()
		h.read(100, servetest.FooList, nil)
		h.readers.Wait()
		passed := h.results["passed: not-proven-in-time"]
		h.expect(t, 1, map[string]int{"passed: not-proven-in-time": passed, "refused: pass-budget": 100 - passed})
		// One at first, and then one a second while they are refused.
		if passed < 2 || passed > 2+int(refuseSpread/time.Second) {
			t.Errorf("%d passed", passed)
		}
		if took := time.Since(start); took > passPatience+refuseSpread+fresh.ProofLimit {
			t.Errorf("they have waited %v", took)
		}
		if n := len(slices.CompactFunc(h.refused, time.Time.Equal)); n < 90 {
			t.Errorf("they are refused at %d times", n)
		}
		if len(h.retries) < 5 {
			t.Errorf("they are told to come back after %v seconds", h.retries)
		}
		for retry := range h.retries {
			if n, err := strconv.Atoi(retry); retry != "" && (err != nil || n < 1 || n > 10) {
				t.Errorf("Retry-After %q", retry)
			}
		}
	})
}

func TestASystemCallerPassesWhereOthersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := stalled(t)
		h.read(10, servetest.FooList, nil)
		time.Sleep(fresh.ProofLimit + time.Millisecond)
		start := time.Now()
		h.read(1, servetest.FooList, &user.DefaultInfo{Name: "system:kube-scheduler"})
		synctest.Wait()
		h.mu.Lock()
		running := h.running
		h.mu.Unlock()
		if running != 2 {
			t.Errorf("%d pass after %v", running, time.Since(start))
		}
		h.readers.Wait()
	})
}

// Reads that began before the fill need no proof of what it has read.
func TestReadersOfAStoreThatIsFilledShareTheFill(t *testing.T) {
	for _, url := range []string{servetest.FooList, servetest.FooWatch + servetest.Streaming + servetest.Bookmarks + "&timeoutSeconds=1", fooPath + "?limit=500"} {
		t.Run(url, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFilling(t)
				f.progress.Bytes = 1 << 30
				h := newHerd(f.env)
				time.AfterFunc(5*time.Second, func() {
					f.Resource.Began = time.Now().Add(-time.Second)
					f.change(resources.Progress{Synced: true})
				})
				h.read(100, url, nil)
				h.expect(t, 1, map[string]int{"passed: not-in-sync": 1, "served: filled-since": 99})
			})
		})
	}
}

// What fails has no end to wait for: reads pass one after the other.
func TestReadersOfAStoreThatCannotBeFilledPassInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFilling(t)
		f.progress = resources.Progress{Failing: true, Bytes: 1 << 30}
		h := newHerd(f.env)
		h.read(5, servetest.FooList, nil)
		h.expect(t, 1, map[string]int{"passed: not-in-sync": 5})
	})
}

// The apiserver matches such selectors with all objects of the resource, as it answers a list of all.
func TestReadsWithLargeSelectorsOrAnOriginPassInTurnOnceTheyAreAllowed(t *testing.T) {
	const list, watch, selector = servetest.FooList + "?", servetest.FooWatch + "&resourceVersion=0&", "labelSelector=a%3D"
	long, origin := strings.Repeat("b", 9000), http.Header{"Origin": {"https://example.com"}}
	for _, tt := range []struct {
		url    string
		header http.Header
		reason string
	}{
		{list + selector + long, nil, "large-selector"}, {watch + selector + long, nil, "large-selector"},
		{list, origin, "origin"}, {watch, origin, "origin"},
	} {
		for allowed, want := range map[bool]string{true: "passed: " + tt.reason, false: "passed: not-allowed"} {
			synctest.Test(t, func(t *testing.T) {
				f := newFilling(t)
				f.progress = resources.Progress{Synced: true, Bytes: 1 << 30}
				f.Access.Allowed = allowed
				h, peak := newHerd(f.env), 1
				if !allowed {
					peak = 5
				}
				h.header = tt.header
				h.read(5, tt.url, nil)
				h.expect(t, peak, map[string]int{want: 5})
			})
		}
	}
}

// Selectors of 8 KB take milliseconds to parse, and one connection may have hundreds.
func TestLongSelectorsAreParsedInTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFilling(t)
		f.progress = resources.Progress{Failing: true}
		f.handler.options.CPU = flowcontrol.NewCPU(1)
		busy := f.handler.options.CPU.Work(t.Context(), limits.Caller{Group: "busy"}, 1<<30)
		if err := busy.Next(); err != nil {
			t.Fatal(err)
		}
		passed := make(chan string, 2)
		f.handler.options.Next = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { passed <- r.FormValue("labelSelector") })
		long := strings.Repeat("a,", 400) + "a"
		for _, selector := range []string{long, "a"} {
			go f.handler.ServeHTTP(&servetest.WatchClient{}, f.Request(servetest.FooList+"?labelSelector="+selector, nil))
		}
		synctest.Wait()
		if len(passed) != 1 || <-passed != "a" {
			t.Error("only the read with a short selector is to go on")
		}
		busy.Rest()
		if got := <-passed; got != long {
			t.Errorf("%s passed", got)
		}
	})
}

func TestAWatchHasItsPlacesUntilItsInitialEventsHaveEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFilling(t)
		f.progress = resources.Progress{Failing: true, Bytes: 1 << 30}
		f.handler.options.Queue = limits.NewQueue(1, 0)
		open := make(chan *request.PassedWatch, 2)
		f.handler.options.Next = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusOK)
			watch := request.From(r.Context()).PassedWatch
			watch.Opened.Set()
			open <- watch
			<-r.Context().Done()
		})
		for range 2 {
			go f.handler.ServeHTTP(&sink{header: http.Header{}}, f.Request(servetest.FooWatch+servetest.Streaming+servetest.Bookmarks, nil))
		}
		synctest.Wait()
		if len(open) != 1 {
			t.Fatalf("%d pass before that", len(open))
		}
		(<-open).Resumable.Set()
		synctest.Wait()
		if len(open) != 1 {
			t.Error("a second one does not pass after that")
		}
	})
}

// After a restart, when stores are filled, reviews take longest.
func TestPatienceBeginsAfterTheReviewOfTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &Handler{options: Options{Metrics: NewMetrics(nil)}}
		q := h.newAttempt()
		time.Sleep(2 * passPatience)
		until := q.deadline()
		if left := time.Until(until); left < passPatience || left > passPatience+refuseSpread {
			t.Errorf("%s are left after a long review", left)
		}
		time.Sleep(time.Second)
		if again := q.deadline(); !again.Equal(until) {
			t.Errorf("the deadline has moved by %s", again.Sub(until))
		}
	})
}

// A proof costs the apiserver less than the places for which others wait.
func TestASmallReadWithoutAPlaceIsProven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, places := range []int{1, 0} {
			e := newEnv(t, servetest.Foos(3), Options{Queue: limits.NewQueue(1, 0)})
			if places == 0 {
				leave, _ := e.handler.options.Queue.TryEnter(limits.Caller{Group: "other"}, 1)
				defer leave()
			}
			e.Apiserver.Set(9, 9) // a second watch proves it
			if got := e.Do(httptest.NewRecorder(), e.Request(servetest.FooList, nil)); (got.Reason == "small-read") != (places > 0) {
				t.Errorf("with %d places: %+v", places, got)
			}
			if stats := e.Resource.Fence.Stats(); stats.Forwarded != places {
				t.Errorf("%d reads are charged with %d places", stats.Forwarded, places)
			}
		}
	})
}

// Its size is estimated without the selector, which cannot be parsed.
func TestAWatchWithABadSelectorPasses(t *testing.T) {
	for _, selector := range []string{"labelSelector=%3D%3D", "fieldSelector=foo"} {
		e := newEnv(t, servetest.Foos(3), Options{})
		got := e.Do(&servetest.WatchClient{}, e.Request(servetest.FooWatch+"&resourceVersion=0&"+selector, nil))
		if e.Passed == nil || got.Reason != string(outcome.UnservedOptions) {
			t.Errorf("%s: %+v", selector, got)
		}
	}
}
