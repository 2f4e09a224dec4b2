package serve

import (
	"bytes"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"sluice/cache"
	"sluice/cache/tree"
	"sluice/test/support/servetest"
)

// What a selection selects is encoded once for all readers from the second read on, also if it is
// few objects of each segment, and only as long as it does not change.
func TestSelectionIsMemoizedByTheSecondRead(t *testing.T) {
	const pods, nodes = 640, 16
	made := scatteredPods(t, pods, nodes)
	objects := slices.Collect(made.Store.Snapshot().Objects(tree.Range{}))
	const scattered = "/api/v1/pods?resourceVersion=0&labelSelector=z%3Dscattered"
	for _, accept := range []string{"application/json", servetest.AsTable} {
		for _, coding := range []string{"identity", "gzip"} {
			for _, node := range []string{"", "node7"} {
				t.Run(accept+" "+coding+" "+node, func(t *testing.T) {
					c, budget := *made, tree.NewBudget(1<<30)
					c.Encoders, c.Store = new(sync.Map), cache.New(cache.Options{Index: made.Fields.Index()}, objects, pods).Store
					memoizing, plain := newEnv(t, &c, Options{Encoded: budget}), newEnv(t, &c, Options{})
					list := func(e *env) []byte {
						url := scattered
						if node != "" {
							url = "/api/v1/pods?resourceVersion=0&fieldSelector=spec.nodeName%3D" + node
						}
						w := e.Get(url, http.Header{"Accept": {accept}, "Accept-Encoding": {coding}})
						return servetest.Decoded(t, w)
					}
					var used []int64
					for round := range 6 {
						if round == 4 {
							changeFirst(t, c.Store, node)
						}
						if got, want := list(memoizing), list(plain); !bytes.Equal(got, want) || len(want) < 1000 {
							t.Fatalf("round %d: %d bytes, not the %d of a list without memos", round, len(got), len(want))
						}
						used = append(used, budget.Used())
					}
					if used[0] != 0 || used[1] < 1000 || used[2] != used[1] || used[3] != used[1] {
						t.Errorf("%d bytes of memos after each read", used)
					}
				})
			}
		}
	}
}

// changeFirst copies the content of the last object to the first one on a node, or, without a node,
// to the first one with a label "z".
func changeFirst(t *testing.T, store *cache.Store, node string) {
	t.Helper()
	state := store.Snapshot()
	var last *tree.Object
	for last = range state.Objects(tree.Range{}) {
	}
	for o := range state.Objects(tree.Range{}) {
		if _, ok := o.Label("z"); ok && node == "" || slices.Contains(o.Fields, node) {
			o = &tree.Object{Key: o.Key, RV: state.Version + 1, Data: last.Data, Labels: o.Labels, Fields: o.Fields}
			if err := (&cache.Writer{Store: store}).Apply(cache.Modified, o, time.Now()); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatal("no object is selected")
}
