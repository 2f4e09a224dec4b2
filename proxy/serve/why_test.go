package serve

import (
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"

	"sluice/cache"
	"sluice/cache/tree"
	"sluice/proxy/request"
	"sluice/proxy/why"
	"sluice/test/support/servetest"
)

// BenchmarkSmallList lists one object of any version: nearly all of it is deciding.
func BenchmarkSmallList(b *testing.B) {
	e := newEnv(b, servetest.Foos(1), Options{Encoded: tree.NewBudget(1 << 20)})
	r := e.Request(servetest.FooList+"?resourceVersion=0", http.Header{"Accept": {"application/json"}})
	b.ReportAllocs()
	for b.Loop() {
		if o := e.Do(nowhere{http.Header{}}, r); o.Source != request.SourceCache {
			b.Fatal(o)
		}
	}
}

// TestRulesCostNothingUnlessSomebodyAsks: a request without a recorder allocates nothing for it.
func TestRulesCostNothingUnlessSomebodyAsks(t *testing.T) {
	var none *why.Recorder
	version := uint64(7)
	if n := testing.AllocsPerRun(100, func() {
		none.Rule(why.Version, version > 6, func() string { return strings.Repeat("x", int(version)) })
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestForesightIsWhatHappens makes a dry run before each request, and compares its verdict with what becomes of it.
func TestForesightIsWhatHappens(t *testing.T) {
	const list, watch = servetest.FooList + "?", servetest.FooWatch + "timeoutSeconds=1&"
	nothing := func(*env) {}
	for _, row := range []struct {
		url    string
		change func(e *env)
		reason string
	}{
		{list + "resourceVersion=0", nothing, "any-version"},
		{list + "resourceVersion=2", nothing, "any-version"},
		{list + "resourceVersion=2&resourceVersionMatch=Exact", nothing, "version-before-history"},
		{list + "resourceVersion=3&resourceVersionMatch=Exact", nothing, "past-version"},
		{list, nothing, "up-to-date"},
		{list + "limit=1", nothing, "up-to-date"},
		{list + "limit=x", nothing, "options"},
		{list + "continue=x", nothing, "options"},
		{list + "resourceVersion=0&fieldSelector=metadata.name%3Da&limit=5", nothing, "options"},
		{list + "labelSelector=a%20b%20c", nothing, "options"},
		{list + "labelSelector=a%3D" + strings.Repeat("b", 9000), nothing, "large-selector"},
		{latestFoo, nothing, "get-latest"},
		{latestFoo + "?resourceVersion=0", nothing, "any-version"},
		{latestFoo + "/status", nothing, "not-a-read"},
		{"/apis/ex.io/v1/foos/f000001?resourceVersion=0", nothing, "wrong-scope"},
		{list + "resourceVersion=0", func(e *env) { e.Missing = "excluded" }, "excluded"},
		{list + "resourceVersion=0", func(e *env) { e.Access.Allowed = false }, "not-allowed"},
		{list + "resourceVersion=0", func(e *env) { e.Access.Failed = servetest.ErrUnreachable }, "not-reviewed"},
		{latestFoo, func(e *env) { e.Access.Learned = true }, "get-latest"},
		{watch + "resourceVersion=0", nothing, "any-version"},
		{watch + "resourceVersion=3", nothing, "past-version"},
		{watch + "resourceVersion=00", nothing, "options"},
		{watch + "resourceVersion=0&fieldSelector=foo", nothing, "options"},
		{servetest.FooWatch + "watch=1&resourceVersion=0&labelSelector=a%3D" + strings.Repeat("b", 9000), nothing, "large-selector"},
		{watch + "resourceVersion=2", func(e *env) { e.Discards = 2 }, "history-discarded"},
		{watch + "resourceVersion=1", nothing, "version-before-history"},
	} {
		t.Run(row.url[:min(len(row.url), 90)]+" "+row.reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newEnv(t, servetest.Foos(3), Options{})
				row.change(e)
				asked := e.Request(row.url, nil)
				info := request.From(asked.Context())
				info.Why = &why.Recorder{}
				e.Handler.(*Handler).Foresee(nowhere{http.Header{}}, asked)
				if len(e.Readers) > 0 || e.Passed != nil || e.Resource.Fence.Stats().Probes > 0 {
					t.Error("the dry run has had an effect")
				}
				verdict := info.Why.Explain(why.Passed, info.Outcome.Reason).Verdict
				after := e.Do(httptest.NewRecorder(), e.Request(row.url, nil))
				if info.Outcome.Reason == "" { // the apiserver decides by what the state is proven
					info.Outcome.Reason = after.Reason
				}
				passed := info.Outcome.Source == request.SourceUpstream
				if info.Outcome.Reason != row.reason || after.Reason != row.reason || passed != (e.Passed != nil) || verdict == why.Unknown {
					t.Errorf("%+v, then %+v, %s\n%+v", info.Outcome, after, verdict, info.Why.Rows())
				}
			})
		})
	}
}

// TestNobodyInParticularLearnsTheSizeOfASelection: the verdict is the same for selections that would be served and passed.
func TestNobodyInParticularLearnsTheSizeOfASelection(t *testing.T) {
	for _, url := range []string{servetest.FooList + "?labelSelector=even%3Dtrue", "/apis/ex.io/v1/namespaces/ns/foos"} {
		for _, objects := range []int{0, 1, 3000} {
			synctest.Test(t, func(t *testing.T) {
				e := newEnv(t, servetest.Foos(objects), Options{})
				asked := e.Request(url, nil)
				info := request.From(asked.Context())
				info.Why = &why.Recorder{Supposed: true}
				e.Handler.(*Handler).Foresee(nowhere{http.Header{}}, asked)
				got := info.Why.Explain(why.Passed, info.Outcome.Reason)
				if got.Verdict != why.Unknown || got.Reason != "" {
					t.Errorf("%s of %d objects: %s %s, %+v", url, objects, got.Verdict, got.Reason, got.Rules)
				}
			})
		}
	}
}

// TestNobodyInParticularLearnsWhenASelectionChanged: the answer is the same for namespaces with and without events that have
// left the history.
func TestNobodyInParticularLearnsWhenASelectionChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		foos := servetest.Foos(0)
		foos.Store = cache.New(cache.Options{HistoryBytes: 1}, []*tree.Object{servetest.Foo(0, 1)}, 3)
		e := newEnv(t, foos, Options{})
		e.Apply(cache.Modified, servetest.Foo(0, 4))
		e.Apply(cache.Modified, servetest.Foo(0, 5))
		var got [2]*why.Explanation
		for i, namespace := range []string{"ns", "other"} {
			asked := e.Request("/apis/ex.io/v1/namespaces/"+namespace+"/foos?watch=1&resourceVersion=3", nil)
			info := request.From(asked.Context())
			info.Why = &why.Recorder{Supposed: true}
			e.Handler.(*Handler).Foresee(nowhere{http.Header{}}, asked)
			got[i] = info.Why.Explain(why.Passed, info.Outcome.Reason)
		}
		if got[0].Verdict != why.Unknown || !reflect.DeepEqual(got[0], got[1]) {
			t.Errorf("with events: %+v\nwithout: %+v", got[0], got[1])
		}
	})
}
