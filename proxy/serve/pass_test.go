package serve

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sluice/proxy/resources"
	"sluice/proxy/serve/outcome"
	"sluice/test/support/servetest"
)

func TestWatchFromBeforeTheHistoryPassesWithAShortTimeout(t *testing.T) {
	for timeout, kept := range map[string]bool{"": false, "&timeoutSeconds=3600": false, "&timeoutSeconds=20": true} {
		e := newEnv(t, servetest.BeforeHistory(), Options{})
		r := e.Request(servetest.FooWatch+servetest.FromThree+timeout, nil)
		url := r.URL.String()
		w := &servetest.WatchClient{}
		outcome := e.Do(w, r)
		if e.Passed == nil || outcome.Reason != "version-before-history" || len(w.Header()) > 0 {
			t.Fatalf("%q: outcome %+v, headers %v", timeout, outcome, w.Header())
		}
		if r.URL.String() != url {
			t.Errorf("%q: the request of the caller is now %s", timeout, r.URL)
		}
		if kept {
			if e.Passed.URL.String() != url {
				t.Errorf("%q: forwarded as %s", timeout, e.Passed.URL)
			}
			continue
		}
		seconds, err := strconv.Atoi(e.Passed.URL.Query().Get("timeoutSeconds"))
		if life := time.Duration(seconds) * time.Second; err != nil || life < passedWatchLife || life > 2*passedWatchLife {
			t.Errorf("%q: forwarded with timeoutSeconds %d", timeout, seconds)
		}
		if got := e.Passed.URL.Query().Get("resourceVersion"); got != "3" {
			t.Errorf("%q: forwarded with version %s", timeout, got)
		}
	}
}

// The clients of a store come back while it is rebuilt. Their watches must not stay at the apiserver.
func TestWatchPassesWithAShortTimeoutIfItCanBeServedLater(t *testing.T) {
	for reason, short := range map[string]bool{
		resources.NotInSync: true, resources.NotCacheable: false, resources.Excluded: false, resources.StoresTooLarge: false,
	} {
		e := newEnv(t, servetest.Foos(3), Options{})
		e.Missing = reason
		for _, url := range []string{servetest.FooWatch + servetest.FromThree, servetest.FooWatch + servetest.Streaming + servetest.Bookmarks, "/apis/ex.io/v1/watch/foos"} {
			e.Do(&servetest.WatchClient{}, e.Request(url, nil))
			if got := e.Passed.URL.Query().Has("timeoutSeconds"); got != short {
				t.Errorf("%s: %s is forwarded as %s", reason, url, e.Passed.URL)
			}
		}
	}
}

// The apiserver would go on as if the client had missed nothing.
func TestWatchOfADiscardedHistoryExpires(t *testing.T) {
	const three = "resourceVersion=3"
	for url, expires := range map[string]bool{
		servetest.FooWatch + "&" + three: true, servetest.FooWatch + "&resourceVersion=1": true, "/apis/ex.io/v1/watch/foos?" + three: true,
		servetest.FooWatch + "&resourceVersion=4": false, servetest.FooWatch + "&resourceVersion=0": false, servetest.FooWatch: false, servetest.FooList + "?" + three: false,
		servetest.FooWatch + "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&" + three: false,
	} {
		for _, missing := range []string{"", resources.NotInSync} {
			synctest.Test(t, func(t *testing.T) {
				e := newEnv(t, servetest.Foos(3), Options{})
				e.Discards, e.Missing = 3, missing
				w := httptest.NewRecorder()
				got := e.Do(w, e.Request(url+"&timeoutSeconds=1", nil))
				expired := w.Code == http.StatusGone && strings.Contains(w.Body.String(), `"reason":"Expired"`)
				if expired != expires || expired != (got.Reason == string(outcome.HistoryDiscarded)) || expired && e.Passed != nil {
					t.Errorf("%q: %s: %+v, code %d, %.200s", missing, url, got, w.Code, w.Body)
				}
			})
		}
	}
}
