package listwatch

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"sluice/cache/tree"
	"sluice/proxy/upstream"
	"sluice/test/support/fake"
)

// timedOut sends events and ends a watch when its own timeout is due, or a while after that.
func timedOut(d fake.Resource, late time.Duration, events ...[]byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		life, _ := strconv.Atoi(r.URL.Query().Get("timeoutSeconds"))
		d.EndedAfter(time.Duration(life)*time.Second+late, events...)(w, r)
	}
}

// Only a watch that its apiserver has ended in order, by its own timeout, is continued for certain, and only at once
// and on the same connection.
func TestOnlyAWatchThatFollowsAtOnceIsCertainlyOfTheSameHistory(t *testing.T) {
	d := fake.ConfigMaps
	for _, row := range []struct {
		name    string
		first   http.HandlerFunc
		pause   time.Duration // before the next watch
		close   bool          // its connection cannot be that of the first
		certain bool
	}{
		{"by its timeout", timedOut(d, 0, d.Bookmark("11")), 0, false, true},
		{"by its timeout, almost late", timedOut(d, atOnce, d.Bookmark("11")), 0, false, true},
		{"later", timedOut(d, atOnce+time.Millisecond, d.Bookmark("11")), 0, false, false},
		{"before its timeout", d.EndedAfter(watchLife-time.Second, d.Bookmark("11")), 0, false, false},
		{"cut", d.Cut(d.Bookmark("11")), 0, false, false},
		{"another connection", timedOut(d, 0, d.Bookmark("11")), 0, true, false},
		{"soon after", timedOut(d, 0, d.Bookmark("11")), atOnce, false, true},
		{"long after", timedOut(d, 0, d.Bookmark("11")), atOnce + time.Millisecond, false, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				steps := []fake.Step{
					{Call: "page", Respond: d.PageBody("10", "")},
					{Call: "watch 10", Respond: func(w http.ResponseWriter, r *http.Request) {
						if row.close {
							w.Header().Set("Connection", "close")
						}
						row.first(w, r)
					}},
					{Call: "watch 11", Respond: d.Stream()},
				}
				u, end := fake.New(t, d, steps).Upstream()
				defer end()
				c := New(u, d.GVR, Options{Opened: func() func() { return func() {} }})
				if _, err := c.List(t.Context(), func(*tree.Object) {}); err != nil {
					t.Fatal(err)
				}
				first, err := c.Watch(t.Context(), 10, 10)
				if err != nil || !first.Continues() {
					t.Fatal("the watch of a list is not certain:", err)
				}
				for err == nil {
					_, err = first.Next()
				}
				if err := first.Close(); err != nil {
					t.Log(err)
				}
				time.Sleep(row.pause)
				second, err := c.Watch(t.Context(), 11, 11)
				if err != nil {
					t.Fatal(err)
				}
				defer second.Close()
				if got := second.Continues(); got != row.certain {
					t.Errorf("certain: %v", got)
				}
			})
		})
	}
}

// HTTP/2 tells the connection of a request, too.
func TestConnectionsOfRequestsAreKnown(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) }))
		server.EnableHTTP2 = http2
		server.StartTLS()
		defer server.Close()
		u, err := upstream.New(upstream.Options{Config: &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}})
		if err != nil {
			t.Fatal(err)
		}
		defer u.Close()
		get := func(ctx context.Context) error { _, _, err := u.Get(ctx, "/", nil, ""); return err }
		ctx, both := traced(t.Context())
		one, first := traced(ctx)
		two, second := traced(ctx)
		if err := errors.Join(get(one), get(two)); err != nil {
			t.Fatal(err)
		}
		if first() == nil || first() != second() || both() != first() {
			t.Errorf("HTTP/2 %v: connections %v and %v, %v of both", http2, first(), second(), both())
		}
		server.CloseClientConnections()
		three, third := traced(ctx)
		for get(three) != nil { // until the loss is noticed
		}
		if third() == first() || both() != nil {
			t.Errorf("HTTP/2 %v: another connection is taken for the same", http2)
		}
	}
}
