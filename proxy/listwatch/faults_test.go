package listwatch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"sluice/cache"
	"sluice/cache/reflector"
	"sluice/codec"
	"sluice/test/support/fake"
)

// fault is what an apiserver or a connection to it may do.
type fault struct {
	name    string
	steps   []step
	stores  int    // how many are published
	version uint64 // of the last; 0 means that none is published
	keys    []string
}

func faults(d fake.Resource) []fault {
	event, list := d.Modified("a/x@11"), d.Page("10", "", "a/gone@3")
	return []fault{
		{"no fault", []step{
			{"watchlist", d.Stream(d.Added("a/x@3"), d.Added("a/y@2"), d.InitialEventsEnd("10"), d.Modified("a/x@11"), d.Deleted("a/y@12"), d.Bookmark("15"))},
		}, 1, 15, []string{"a/x"}},
		{"the order of keys", []step{
			{"watchlist", d.Stream(d.Added("a/x@3"), d.Added("a-b/x@2"), d.Added("a0/x@4"), d.InitialEventsEnd("10"))},
		}, 1, 10, []string{"a-b/x", "a/x", "a0/x"}},
		{"a watch cut between events", []step{
			{"watchlist", d.Cut(d.Added("a/x@3"), d.InitialEventsEnd("10"), d.Modified("a/x@11"))},
			{"watch 11", d.Stream(d.Added("a/y@12"))},
		}, 1, 12, []string{"a/x", "a/y"}},
		{"a watch cut in an event", []step{
			{"watchlist", d.Cut(d.Added("a/x@3"), d.InitialEventsEnd("10"), event[:len(event)/2])},
			{"watch 10", d.Cut(event, d.Bookmark("12")[:3])},
			{"watch 11", d.Stream(d.Bookmark("13"))},
		}, 1, 13, []string{"a/x"}},
		{"a watch that ends in an event", []step{
			{"watchlist", d.Ended(d.Added("a/x@3"), d.InitialEventsEnd("10"), event[:len(event)-2])},
			{"watch 10", d.Stream(event)},
		}, 1, 11, []string{"a/x"}},
		{"a watch cut between deletions at one version", []step{
			{"watchlist", d.Cut(d.Added("a/x@3"), d.Added("a/y@4"), d.Added("a/z@5"), d.InitialEventsEnd("10"), d.Deleted("a/x@12"))},
			{"watch 11", d.Cut(d.Deleted("a/x@12"), d.Deleted("a/y@12"))},
			{"watch 11", d.Cut(d.Deleted("a/x@12"), d.Deleted("a/y@12"), d.Bookmark("12"))},
			{"watch 11", d.Cut(d.Deleted("a/x@12"), d.Deleted("a/y@12"), d.Bookmark("13"))},
			{"watch 13", d.Stream(d.Bookmark("14"))},
		}, 1, 14, []string{"a/z"}},
		{"initial events cut short", []step{
			{"watchlist", d.Cut(d.Added("a/gone@3"))},
			{"watchlist", d.Stream(d.Added("a/x@4"), d.InitialEventsEnd("10"))},
		}, 1, 10, []string{"a/x"}},
		{"initial events cut short again and again", []step{
			{"watchlist", d.Cut(d.Added("a/gone@3"))},
			{"watchlist", d.Ended(d.Added("a/gone@3"))},
			{"page", d.Cut(d.Page("10", "", "a/gone@3")[:9])},
			{"watchlist", d.Cut(d.Added("a/gone@3"))},
			{"watchlist", d.Cut(d.Added("a/gone@3"))},
			{"page", d.PageBody("10", "", "a/x@4")},
			{"watch 10", d.Ended(d.Error(http.StatusGone))},
			{"watchlist", d.Cut(d.Added("a/gone@3"))},
			{"watchlist", d.Stream(d.Added("a/y@14"), d.InitialEventsEnd("20"))},
		}, 2, 20, []string{"a/y"}},
		{"expired history in an ERROR event", []step{
			{"watchlist", d.Cut(d.Added("a/x@3"), d.InitialEventsEnd("10"))},
			{"watch 10", d.Ended(d.Error(http.StatusGone))},
			{"watchlist", d.Stream(d.Added("a/y@30"), d.InitialEventsEnd("40"))},
		}, 2, 40, []string{"a/y"}},
		{"expired history in a response", []step{
			{"watchlist", d.Cut(d.Added("a/x@3"), d.InitialEventsEnd("10"))},
			{"watch 10", fake.Refuse(http.StatusGone)},
			{"watchlist", d.Stream(d.InitialEventsEnd("40"))},
		}, 2, 40, nil},
		{"an error in a watch", []step{
			{"watchlist", d.Ended(d.Added("a/x@3"), d.InitialEventsEnd("10"), d.Error(http.StatusInternalServerError))},
			{"watch 10", d.Ended(d.Added("a/y@11"), d.Error(http.StatusInternalServerError))},
			{"watch 11", d.Stream(d.Bookmark("12"))},
		}, 1, 12, []string{"a/x", "a/y"}},
		{"an error in the initial events", []step{
			{"watchlist", d.Ended(d.Added("a/x@3"), d.Error(http.StatusServiceUnavailable))},
			{"watchlist", d.Stream(d.InitialEventsEnd("10"))},
		}, 1, 10, nil},
		{"no storage progress", []step{
			{"watchlist", d.Ended(d.Error(http.StatusInternalServerError))},
			{"page", d.PageBody("10", "", "a/x@3")},
			{"watch 10", d.Ended(d.Error(http.StatusGone))},
			{"watchlist", d.Ended(d.Error(http.StatusInternalServerError))},
			{"page", d.PageBody("20", "", "a/y@13")},
			{"watch 20", d.Stream()},
		}, 2, 20, []string{"a/y"}},
		{"a watch cache that is not fresh in time", []step{
			{"watchlist", d.Ended(d.Added("a/gone@3"), d.Error(http.StatusGatewayTimeout))},
			{"page", d.PageBody("10", "", "a/x@3")},
			{"watch 10", d.Ended(d.Error(http.StatusGone))},
			{"watchlist", fake.Refuse(http.StatusGatewayTimeout)},
			{"page", d.PageBody("20", "", "a/x@3")},
			{"watch 20", d.Stream()},
		}, 2, 20, []string{"a/x"}},
		{"initial events whose end never comes", []step{
			{"watchlist", d.Stream(d.Added("a/gone@3"), d.Bookmark("9"))},
			{"page", d.PageBody("10", "", "a/x@3")},
			{"watch 10", d.Stream(d.Added("a/y@11"))},
		}, 1, 11, []string{"a/x", "a/y"}},
		{"initial events whose end never comes while objects change", []step{
			{"watchlist", func(w http.ResponseWriter, r *http.Request) {
				d.Ended(d.Added("a/x@3"))(w, r)
				for version := 10; version < 100 && r.Context().Err() == nil; version++ {
					time.Sleep(2 * time.Second)
					_, _ = w.Write(d.Modified(fmt.Sprintf("a/x@%d", version)))
					_ = http.NewResponseController(w).Flush()
				}
				<-r.Context().Done()
			}},
			{"page", d.PageBody("100", "", "a/x@99")},
			{"watch 100", d.Stream()},
		}, 1, 100, []string{"a/x"}},
		{"refused watches", []step{
			{"watchlist", d.Cut(d.Added("a/x@3"), d.InitialEventsEnd("10"))},
			{"watch 10", fake.Refuse(http.StatusInternalServerError)},
			{"watch 10", fake.Refuse(http.StatusServiceUnavailable, "Retry-After", "1")},
			{"watch 10", fake.Refuse(http.StatusTooManyRequests, "Retry-After", "1")},
			{"watch 10", d.Stream(d.Deleted("a/x@11"))},
		}, 1, 11, nil},
		{"a right that is revoked and granted", []step{
			{"watchlist", d.Cut(d.Added("a/x@3"), d.InitialEventsEnd("10"))},
			{"watch 10", fake.Refuse(http.StatusForbidden)},
			{"watch 10", fake.Refuse(http.StatusForbidden)},
			{"watch 10", fake.Refuse(http.StatusForbidden)},
			{"watch 10", fake.Refuse(http.StatusUnauthorized)},
			{"watch 10", fake.Refuse(http.StatusForbidden)},
			{"watch 10", fake.Refuse(http.StatusForbidden)},
			{"first list", fake.Refuse(http.StatusForbidden)},
			{"first list", fake.Refuse(http.StatusUnauthorized)},
			{"watchlist", fake.Refuse(http.StatusForbidden)},
			{"watchlist", d.Stream(d.InitialEventsEnd("40"))},
		}, 2, 40, nil},
		{"a right that is revoked during a watch", []step{
			{"watchlist", d.Ended(d.Added("a/x@3"), d.InitialEventsEnd("10"), d.Error(http.StatusForbidden))},
			{"watch 10", fake.Refuse(http.StatusForbidden)},
			{"watch 10", d.Stream()},
		}, 1, 10, []string{"a/x"}},
		{"no streaming lists", []step{
			{"watchlist", fake.Refuse(http.StatusUnprocessableEntity)},
			{"page", d.PageBody("10", "two", "a/x@3", "a/y@4")},
			{"page two", d.PageBody("10", "three", "b/x@3")},
			{"page three", d.PageBody("10", "")},
			{"watch 10", d.Cut(d.Deleted("a/y@11"))},
			{"watch 10", fake.Refuse(http.StatusGone)},
			{"page", d.PageBody("40", "", "c/z@5")},
			{"watch 40", d.Stream(d.Added("c/zz@41"))},
		}, 2, 41, []string{"c/z", "c/zz"}},
		{"expired pages", []step{
			{"watchlist", fake.Refuse(http.StatusBadRequest)},
			{"page", d.PageBody("10", "two", "a/gone@3")},
			{"page two", fake.Refuse(http.StatusGone)},
			{"page", d.PageBody("20", "two", "a/x@3")},
			{"page two", d.PageBody("20", "", "b/x@3")},
			{"watch 20", d.Stream()},
		}, 1, 20, []string{"a/x", "b/x"}},
		{"broken pages", []step{
			{"watchlist", fake.Refuse(http.StatusUnprocessableEntity)},
			{"page", fake.Body(d.ContentType(), list[:len(list)-9])},
			{"page", d.Cut(list[:len(list)/2])},
			{"page", fake.Refuse(http.StatusTooManyRequests, "Retry-After", "3")},
			{"page", d.PageBody("20", "", "a/x@3")},
			{"watch 20", d.Stream()},
		}, 1, 20, []string{"a/x"}},
		{"events that contradict the state", []step{
			{"watchlist", d.Ended(d.Added("a/x@3"), d.InitialEventsEnd("10"), d.Modified("a/never@11"))},
			{"watchlist", d.Ended(d.Added("a/x@3"), d.InitialEventsEnd("20"), d.Added("a/x@21"))},
			{"watchlist", d.Ended(d.Added("a/x@3"), d.InitialEventsEnd("30"), d.Modified("a/x@25"))},
			{"watchlist", d.Ended(d.Added("a/x@3"), d.InitialEventsEnd("40"), d.Bookmark("35"))},
			{"watchlist", d.Stream(d.Added("a/x@3"), d.InitialEventsEnd("50"))},
		}, 5, 50, []string{"a/x"}},
		{"malformed events", []step{
			{"watchlist", d.Ended(d.Added("a/x@3"), d.InitialEventsEnd("10"), d.Event("RENAMED", "a/x@11"))},
			{"watchlist", d.Ended(d.Added("a/x@3"), d.InitialEventsEnd("20"), d.Modified("a/x@v21"))},
			{"watchlist", d.Ended(d.Added("a/x@3"), d.InitialEventsEnd("30"), d.Modified("a/x@"))},
			{"watchlist", d.Ended(d.Added("a/x@3"), d.InitialEventsEnd("40"), d.Bookmark("-1"))},
			{"watchlist", d.Ended(d.Added("a/x@3"), d.InitialEventsEnd("50"), d.Frame("MODIFIED", []byte(`"k8s"`)))},
			{"watchlist", d.Stream(d.Added("a/x@3"), d.InitialEventsEnd("60"))},
		}, 6, 60, []string{"a/x"}},
		{"malformed initial events", []step{
			{"watchlist", d.Ended(d.Added("a/x@v3"), d.InitialEventsEnd("10"))},
			{"watchlist", d.Ended(d.Added("a/x@3"), d.InitialEventsEnd("v10"))},
			{"page", d.Cut()},
			{"watchlist", d.Stream(d.Added("a/x@3"), d.InitialEventsEnd("20"))},
		}, 1, 20, []string{"a/x"}},
		{"frames that claim to be huge", []step{
			{"watchlist", d.Ended(d.Added("a/x@3"), d.InitialEventsEnd("10"), binary.BigEndian.AppendUint32(nil, math.MaxUint32))},
			{"watchlist", d.Ended(d.Added("a/x@3"), d.InitialEventsEnd("10"), binary.BigEndian.AppendUint32(nil, frameLimit+1))},
			{"watchlist", d.Stream(d.Added("a/x@3"), d.InitialEventsEnd("20"))},
		}, 3, 20, []string{"a/x"}},
		{"broken discovery", []step{
			{"discovery", fake.Refuse(http.StatusServiceUnavailable)},
			{"discovery", fake.Body(codec.MediaJSON, []byte(`{"resources":[`))},
			{"discovery", d.Cut([]byte("{"))},
			{"first list", fake.Body("text/html", []byte("<html>"))},
			{"watchlist", d.Stream(d.InitialEventsEnd("10"))},
		}, 1, 10, nil},
		{"an encoding that was not accepted", []step{
			{"watchlist", d.Cut(d.Added("a/x@3"), d.InitialEventsEnd("10"))},
			{"watch 10", fake.Body("text/html", []byte("<html>"))},
			{"watch 10", fake.Body("application/yaml", []byte("x"))},
			{"watch 10", d.Stream(d.Bookmark("20"))},
		}, 1, 20, []string{"a/x"}},
	}
}

func TestStoreIsRightAfterEveryFault(t *testing.T) {
	for name, d := range fake.Encodings {
		for _, tt := range faults(d) {
			t.Run(tt.name+"/"+name, func(t *testing.T) {
				run(t, d, tt.steps, func(t *testing.T, e *env) {
					e.checkAfter(t, 5*time.Minute, tt.version, tt.keys...)
					if n := len(e.stores); n != tt.stores {
						t.Errorf("%d stores were published, want %d", n, tt.stores)
					}
				})
			})
		}
	}
}

// A newer apiserver may send events of a type that is not known. Skipping them could hide a change, so the
// store is rebuilt each time, and requests pass in the meantime; but ever more rarely.
func TestUnknownEventTypesCostFewRebuilds(t *testing.T) {
	for name, d := range fake.Encodings {
		t.Run(name, func(t *testing.T) {
			const rebuilds = 12
			var steps []step
			for range rebuilds {
				steps = append(steps, step{"watchlist", d.Ended(d.Added("a/x@3"), d.InitialEventsEnd("10"), d.Modified("a/x@11"), d.Event("RENAMED", "a/x@12"))})
			}
			run(t, d, steps, func(t *testing.T, e *env) {
				pass(2 * time.Minute)
				if n := len(e.Calls()); n < 5 || n == rebuilds {
					t.Errorf("%d streaming lists in two minutes", n)
				}
			})
		})
	}
}

// A newer apiserver may send fields of lists that are not compiled in.
func TestUnknownFieldsOfListsAreIgnored(t *testing.T) {
	d := fake.ConfigMaps
	meta := protowire.AppendString(protowire.AppendTag([]byte("\x12\x0210"), 99, protowire.BytesType), "unknown")
	list := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), meta)
	list = protowire.AppendVarint(protowire.AppendTag(list, 98, protowire.VarintType), 1)
	steps := []step{
		{"watchlist", fake.Refuse(http.StatusUnprocessableEntity)},
		{"page", fake.Body(codec.MediaProtobuf, enveloped("ConfigMapList", list))},
		{"watch 10", d.Stream()},
	}
	for range 2 { // by Probe and by Inventory
		steps = append(steps, step{"metadata", fake.Body(codec.MediaProtobuf, enveloped("PartialObjectMetadataList", list))})
	}
	run(t, d, steps, func(t *testing.T, e *env) {
		pass(time.Second)
		e.check(t, 10)
		if version, err := e.client.Session().Probe(t.Context()); version != 10 || err != nil {
			t.Errorf("probed version %d, %v", version, err)
		}
		if r, err := e.client.Session().Inventory(t.Context(), cache.Scope{}, 0); err != nil || !r.Matches(e.store.Snapshot()) {
			t.Error(err)
		}
		e.CheckPlayed(t)
		if r := e.client.Session().Description().Resource; r.Source != codec.Protobuf {
			t.Errorf("store holds %s", r.Source)
		}
	})
}

// The apiserver ends the watches of a custom resource before their timeout when the CRD changes.
func TestEarlyEndRebuildsOnlyStoresOfCustomResources(t *testing.T) {
	for name, d := range fake.Encodings {
		t.Run(name, func(t *testing.T) {
			steps := []step{
				{"watchlist", d.Ended(d.Added("a/x@3"), d.InitialEventsEnd("10"))},
				{"watch 10", d.Ended()},
				{"watch 10", d.Stream(d.Deleted("a/x@11"))},
			}
			var keys []string
			if !d.Protobuf {
				keys = []string{"a/y"}
				steps = []step{steps[0], {"watchlist", d.Stream(d.Added("a/y@11"), d.InitialEventsEnd("11"))}}
			}
			run(t, d, steps, func(t *testing.T, e *env) {
				e.checkAfter(t, time.Minute, 11, keys...)
			})
		})
	}
}

// An event larger than any object can be is not read to its end.
func TestEndlessEventIsNotRead(t *testing.T) {
	in := strings.NewReader(`{"type":"ADDED","object":{"data":"` + strings.Repeat("x", 2*frameLimit))
	if _, _, err := (jsonEncoding{}).events(in, readAhead).next(); !errors.Is(err, reflector.ErrUnreadable) {
		t.Errorf("got %v", err)
	}
	if n := in.Size() - int64(in.Len()); n > frameLimit {
		t.Errorf("read %d bytes, the limit is %d", n, frameLimit)
	}
}
