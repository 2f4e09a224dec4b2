package cache

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"sluice/cache/tree"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// model is a naive store: it keeps every state in full.
type model struct {
	states []modelState
	events []modelEvent
}

type modelState struct {
	version uint64
	objects map[tree.Key]uint64 // resource versions by key
}

type modelEvent struct {
	Type Type
	RV   uint64
	Key  tree.Key
}

func (m *model) last() modelState { return m.states[len(m.states)-1] }

// at returns the newest state up to version.
func (m *model) at(version uint64) modelState {
	i := len(m.states) - 1
	for m.states[i].version > version {
		i--
	}
	return m.states[i]
}

// since returns the events of scope after version, and of several at version all but the first.
func (m *model) since(scope Scope, version uint64) []modelEvent {
	var out []modelEvent
	for i, e := range m.events {
		shares := i > 0 && m.events[i-1].RV == e.RV
		if (e.RV > version || e.RV == version && shares) && inScope(scope, e.Key) {
			out = append(out, e)
		}
	}
	return out
}

// inScope reports whether an object is in scope, by the definition of scopes. The indexed field is
// the last digit of the name, which never changes.
func inScope(s Scope, k tree.Key) bool {
	switch {
	case s.Key != "":
		return k == s.Key
	case s.Indexed:
		return digit(k) == s.Value
	}
	return s.Namespace == "" || k.Namespace() == s.Namespace
}

func digit(k tree.Key) string { return string(k[len(k)-1:]) }

// pair applies the same random operations to a store and to its model.
type pair struct {
	t       *testing.T
	rnd     *rand.Rand
	store   *Writer
	model   model
	version uint64
	now     time.Time
	keys    []tree.Key
}

func newPair(t *testing.T, seed uint64, options Options) *pair {
	p := &pair{t: t, rnd: rand.New(rand.NewPCG(seed, 7)), version: 100, now: time.Unix(1e9, 0)}
	for ns := range 4 {
		for name := range 100 {
			p.keys = append(p.keys, tree.KeyOf([]string{"a", "a-b", "ab", "z"}[ns], fmt.Sprintf("n%d", name)))
		}
	}
	initial := map[tree.Key]uint64{}
	for range p.rnd.IntN(300) {
		initial[p.keys[p.rnd.IntN(len(p.keys))]] = 1 + p.rnd.Uint64N(99)
	}
	objects := make([]*tree.Object, 0, len(initial))
	for _, k := range slices.Sorted(maps.Keys(initial)) {
		objects = append(objects, testObject(k, initial[k]))
	}
	p.model.states = []modelState{{p.version, initial}}
	field := 1
	options.Index = &field
	p.store = New(options, objects, p.version)
	return p
}

func testObject(k tree.Key, rv uint64) *tree.Object {
	return &tree.Object{Key: k, RV: rv, Data: fmt.Appendf(nil, "%s@%d", k, rv), Fields: []string{string(k), digit(k)}}
}

func (p *pair) step() {
	p.t.Helper()
	p.commit()()
}

// commit applies an operation to the model and returns the function that applies it to the store.
func (p *pair) commit() (apply func()) {
	p.t.Helper()
	p.version += 1 + p.rnd.Uint64N(3)
	p.now = p.now.Add(time.Duration(p.rnd.IntN(1000)) * time.Millisecond)
	if p.rnd.IntN(10) == 0 {
		version := p.version
		p.model.states = append(p.model.states, modelState{version, p.model.last().objects})
		return func() {
			if err := p.store.ApplyBookmark(version); err != nil {
				p.t.Fatal(err)
			}
		}
	}
	if p.rnd.IntN(20) == 0 {
		return p.expire(p.rnd.IntN(4))
	}
	k := p.keys[p.rnd.IntN(len(p.keys))]
	next := maps.Clone(p.model.last().objects)
	typ := Added
	if _, ok := next[k]; ok {
		typ = Modified
		if p.rnd.IntN(2) == 0 {
			typ = Deleted
		}
	}
	if next[k] = p.version; typ == Deleted {
		delete(next, k)
	}
	o, now := testObject(k, p.version), p.now
	p.model.states = append(p.model.states, modelState{p.version, next})
	p.model.events = append(p.model.events, modelEvent{typ, p.version, k})
	return func() {
		if err := p.store.Apply(typ, o, now); err != nil {
			p.t.Fatal(err)
		}
	}
}

// expire is commit of a lease's end in etcd, which deletes several keys at one version.
func (p *pair) expire(n int) (apply func()) {
	next := maps.Clone(p.model.last().objects)
	var expired []*tree.Object
	for _, k := range slices.Sorted(maps.Keys(next)) {
		if len(expired) == n {
			break
		}
		delete(next, k)
		expired = append(expired, testObject(k, p.version))
		p.model.events = append(p.model.events, modelEvent{Deleted, p.version, k})
	}
	p.model.states = append(p.model.states, modelState{p.version, next})
	now := p.now
	return func() {
		for _, o := range expired {
			if err := p.store.Apply(Deleted, o, now); err != nil {
				p.t.Fatal(err)
			}
		}
	}
}

func (p *pair) checkSnapshot(s *Snapshot) {
	p.t.Helper()
	want := p.model.at(s.Version)
	for _, r := range []tree.Range{{}, tree.Namespace("a"), tree.Namespace("ab"), tree.Namespace("none"), {From: "a/n5"}, {From: "a/n5", To: "ab/n9"}} {
		var keys, wantKeys []tree.Key
		for o := range s.Objects(r) {
			keys = append(keys, o.Key)
			if o.RV != want.objects[o.Key] {
				p.t.Fatalf("%s has version %d, want %d", o.Key, o.RV, want.objects[o.Key])
			}
		}
		for k := range want.objects {
			if r.Contains(k) {
				wantKeys = append(wantKeys, k)
			}
		}
		slices.Sort(wantKeys)
		if diff := cmp.Diff(wantKeys, keys); diff != "" {
			p.t.Fatalf("range %v at %d:\n%s", r, s.Version, diff)
		}
		if n := s.Count(r); n != len(keys) {
			p.t.Fatalf("count of %v is %d, want %d", r, n, len(keys))
		}
	}
	p.checkIndex(s, want)
	k := p.keys[p.rnd.IntN(len(p.keys))]
	if o := s.Get(k); (o != nil) != (want.objects[k] != 0) {
		p.t.Fatalf("get %s: %v, want version %d", k, o, want.objects[k])
	}
}

func (p *pair) checkIndex(s *Snapshot, want modelState) {
	p.t.Helper()
	for _, r := range []tree.Range{{}, tree.Namespace("a-b")} {
		var keys, wantKeys []tree.Key
		for o := range s.ByIndex("7", r) {
			keys = append(keys, o.Key)
			if o.RV != want.objects[o.Key] {
				p.t.Fatalf("index holds %s at %d, want %d", o.Key, o.RV, want.objects[o.Key])
			}
		}
		for k := range want.objects {
			if r.Contains(k) && digit(k) == "7" {
				wantKeys = append(wantKeys, k)
			}
		}
		slices.Sort(wantKeys)
		if diff := cmp.Diff(wantKeys, keys); diff != "" {
			p.t.Fatalf("index in %v at %d:\n%s", r, s.Version, diff)
		}
		var byRuns []tree.Key
		for run := range s.RunsByIndex("7", r) {
			var bytes int64
			for _, o := range run.Objects() {
				byRuns, bytes = append(byRuns, o.Key), bytes+int64(len(o.Data))
			}
			if run.Whole() || run.Bytes() != bytes || run.Last().Key != byRuns[len(byRuns)-1] {
				p.t.Fatalf("run of the index up to %s: whole is %v, %d bytes of %d", run.Last().Key, run.Whole(), run.Bytes(), bytes)
			}
		}
		if !slices.Equal(byRuns, keys) {
			p.t.Fatalf("runs of the index in %v have %v, not %v", r, byRuns, keys)
		}
		if n := s.CountByIndex("7", r); n != len(keys) {
			p.t.Fatalf("index in %v counts %d instead of %d", r, n, len(keys))
		}
	}
}

func TestEveryVersionOfTheHistoryCanBeReadAgain(t *testing.T) {
	for seed := range uint64(30) {
		p := newPair(t, seed, Options{HistoryAge: 60 * time.Second, HistoryBytes: 1 << 30})
		for range 300 {
			p.step()
		}
		for range 50 {
			version := 100 + p.rnd.Uint64N(p.version-90)
			s, err := p.store.At(version)
			switch {
			case version > p.version && err == ErrAhead, version < p.store.OldestVersion() && err == ErrGone:
			case err != nil:
				t.Fatalf("at %d of [%d, %d]: %v", version, p.store.OldestVersion(), p.version, err)
			case s.Version != version:
				t.Fatalf("requested %d, got %d", version, s.Version)
			default:
				p.checkSnapshot(s)
			}
		}
	}
}

func TestSnapshotsHoldEveryEventUpToTheirVersion(t *testing.T) {
	runs := 100
	if testing.Short() {
		runs = 30
	}
	for seed := range uint64(runs) {
		p := newPair(t, seed, Options{HistoryBytes: 1 << 30})
		var kept []*Snapshot
		for i := range 400 {
			p.step()
			if i%37 == 0 {
				kept = append(kept, p.store.Snapshot())
			}
		}
		for _, s := range append(kept, p.store.Snapshot()) {
			p.checkSnapshot(s)
		}
	}
}

// reader reads a cursor at random moments.
type reader struct {
	scope   Scope
	from    uint64
	cursor  *Cursor
	got     []modelEvent
	version uint64
	gone    bool
}

func (r *reader) read(t *testing.T, limit int) {
	buf := make([]*Event, 1+limit)
	n, version, err := r.cursor.Next(buf)
	if err == ErrGone {
		r.gone = true
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range buf[:n] {
		if want := testObject(e.Object.Key, e.RV); !bytes.Equal(e.Object.Data, want.Data) || !slices.Equal(e.Object.Fields, want.Fields) || e.Object.RV != e.RV {
			t.Fatalf("event at %d shows %s of %v", e.RV, e.Object.Data, e.Object.Fields)
		}
		r.got = append(r.got, modelEvent{e.Type, e.RV, e.Object.Key})
	}
	r.version = version
}

func TestCursorsDeliverEveryEventOnceOrReturnGone(t *testing.T) {
	runs := 60
	if testing.Short() {
		runs = 20
	}
	for seed := range uint64(runs) {
		// The history is short, so that slow readers fall behind it, and sometimes most of it is archived.
		options := Options{HistoryAge: 20 * time.Second, HistoryBytes: 1 << 30}
		if seed%2 == 1 {
			options = Options{HistoryAge: 200 * time.Second, HistoryBytes: 300 << 10}
		}
		p := newPair(t, seed, options)
		begin := p.version
		scopes := []Scope{{}, {Namespace: "a"}, {Namespace: "ab"}, {Key: "a/n1"}, {Key: "z/n2"}, {Indexed: true, Value: "3"}}
		var readers []*reader
		for range 500 {
			p.step()
			switch p.rnd.IntN(4) {
			case 0:
				r := &reader{scope: scopes[p.rnd.IntN(len(scopes))]}
				r.from = p.version - min(p.rnd.Uint64N(80), p.version)
				c, err := p.store.Watch(r.scope, r.from)
				lost := model{events: p.model.events[:p.store.history.archive.trimmed]}
				if missed := lost.since(r.scope, r.from); (err == ErrGone) != (r.from < begin || len(missed) > 0) {
					t.Fatalf("watch of %v from %d after %v: %v", r.scope, r.from, missed, err)
				}
				if err == nil {
					r.cursor = c
					readers = append(readers, r)
				}
			case 1, 2:
				if len(readers) > 0 {
					readers[p.rnd.IntN(len(readers))].read(t, p.rnd.IntN(20))
				}
			}
		}
		complete := 0
		for _, r := range readers {
			for r.read(t, 1000); !r.gone && r.version < p.store.Streamed(); { // archived events come in pieces
				r.read(t, 1000)
			}
			want := p.model.since(r.scope, r.from)
			if r.gone { // it got a prefix, and the next event has left the history
				lost := model{events: p.model.events[:p.store.history.archive.trimmed]}
				if len(lost.since(r.scope, r.from)) <= len(r.got) {
					t.Fatalf("seed %d scope %v from %d: gone after %d events", seed, r.scope, r.from, len(r.got))
				}
				want = want[:min(len(r.got), len(want))]
			} else {
				complete++
			}
			if diff := cmp.Diff(want, r.got, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("seed %d scope %v from %d:\n%s", seed, r.scope, r.from, diff)
			}
			if !r.gone && r.version != p.store.Streamed() {
				t.Fatalf("reader is at version %d, store is complete up to %d", r.version, p.store.Streamed())
			}
			r.cursor.Close()
		}
		if complete == 0 {
			t.Fatalf("seed %d: no reader kept up", seed)
		}
		if n := len(p.store.history.subscriptions); n != 0 {
			t.Fatalf("%d subscriptions are left after the last cursor was closed", n)
		}
	}
}
