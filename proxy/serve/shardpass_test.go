package serve

import (
	"net/http"
	"testing"

	"sluice/proxy/request"
	"sluice/proxy/resources"
	"sluice/proxy/serve/plan"
	"sluice/test/support/servetest"
)

// A read of a shard that follows a list from here must not pass to an apiserver that may ignore the
// selector.
func TestShardsPassOnlyWhereTheResponseSaysWhatItIs(t *testing.T) {
	const path = "/apis/ex.io/v1/foos?shardSelector=" + servetest.HalfOfUIDs
	for _, row := range []struct {
		query   string
		missing string // why the resource is not cached
		version uint64 // of the apiserver
		want    string
	}{
		{"", "", 3, "served"},
		{"", resources.NotInSync, 3, "passed"},
		{"&limit=1", resources.NotInSync, 3, "passed"},
		{"&resourceVersion=9", "", 3, "passed"},
		{"&continue=x", resources.NotInSync, 3, "passed"}, // of an invalid token the apiserver says so
		{"&continue=" + servetest.Token(t, 3, "/ns/f000001\x00"), resources.NotInSync, 3, "429"},
		{"&continue=" + servetest.Token(t, 9, "/ns/f000001\x00"), "", 3, "429"},
		{"&continue=" + servetest.Token(t, 9, "/ns/f000001\x00"), "", 0, "429"},
		{"&continue=" + servetest.Token(t, 1, "/ns/f000001\x00"), "", 3, "410"},
		{"&watch=1&resourceVersion=3", resources.NotInSync, 3, "429"},
		{"&watch=1&" + servetest.Streaming, "", 0, "429"}, // it is not proven
		{"&watch=1&resourceVersion=3", "excluded", 3, "passed"},
	} {
		e := newEnv(t, servetest.Foos(3), Options{Features: plan.Features{ShardSelector: true}})
		e.Missing = row.missing
		e.Apiserver.Set(row.version, 0)
		w := &servetest.WatchClient{}
		outcome := e.Do(w, e.Request(path+row.query, nil))
		if got := answered(e, w, outcome); got != row.want {
			t.Errorf("%s: %s, want %s (%+v)", row.query, got, row.want, outcome)
		}
	}
}

// An apiserver that knows shards answers what the cache cannot.
func TestShardsPassToAnApiserverThatKnowsThem(t *testing.T) {
	const path = "/apis/ex.io/v1/foos?shardSelector=" + servetest.HalfOfUIDs
	for _, query := range []string{
		"&continue=" + servetest.Token(t, 9, "/ns/f000001\x00"),
		"&continue=" + servetest.Token(t, 1, "ns/f000001\x00"),
		"&watch=1&" + servetest.Streaming,
	} {
		for _, forced := range []bool{false, true} {
			c := servetest.Foos(3)
			c.SelectsShards = true
			e := newEnv(t, c, Options{Features: plan.Features{ShardSelector: forced}})
			e.Apiserver.Set(0, 0) // nothing can be proven
			if outcome := e.Do(&servetest.WatchClient{}, e.Request(path+query, nil)); e.Passed == nil {
				t.Errorf("%s, forced %v: outcome %+v", query, forced, outcome)
			}
		}
	}
}

func TestInvalidShardSelectorIsRefusedHere(t *testing.T) {
	for minor, want := range map[int]int{0: http.StatusInternalServerError, 37: http.StatusInternalServerError, 38: http.StatusBadRequest} {
		c := servetest.Foos(3)
		c.Minor = minor
		for _, query := range []string{"", "&watch=1"} {
			e := newEnv(t, c, Options{Features: plan.Features{ShardSelector: true}})
			w := &servetest.WatchClient{}
			outcome := e.Do(w, e.Request("/apis/ex.io/v1/foos?shardSelector=x"+query, nil))
			if e.Passed != nil || w.Code != want || outcome != (request.Outcome{Source: request.SourceGateway}) {
				t.Errorf("1.%d%s: code %d, outcome %+v", minor, query, w.Code, outcome)
			}
		}
	}
}
