package resources

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice/cache"
	"sluice/cache/reflector"
	"sluice/codec"
	"sluice/codec/proto"
)

// unknownField is an object as a newer upstream may send it.
func unknownField(kind string, o object) []byte {
	raw, err := configMaps.configMap(o, "").Marshal()
	if err != nil {
		panic(err)
	}
	raw = protowire.AppendTag(raw, 1999, protowire.BytesType)
	raw = protowire.AppendString(raw, "what this release does not know")
	envelope := append([]byte("k8s\x00"), 0x0a, 0x0f)
	envelope = append(envelope, "\x0a\x02v1\x12\x09ConfigMap"...)
	envelope = protowire.AppendTag(envelope, 2, protowire.BytesType)
	envelope = protowire.AppendBytes(envelope, raw)
	return configMaps.frame(kind, append(envelope, "\x1a\x00\x22\x00"...))
}

// No field may get lost because the upstream is newer: the resource turns to
// JSON, and stays there.
func TestUnknownFieldsTurnToJSON(t *testing.T) {
	p, j := configMaps, configMaps
	j.protobuf = false
	unknown := object{"a/new", "12"}
	scripts := map[string][]step{
		"in an event": {
			{"state", p.ended(p.added("a/x", "3"), p.synced("10"), unknownField("ADDED", unknown))},
			{"state", j.cut(j.added("a/x", "3"), j.added("a/new", "12"), j.synced("20"))},
			{"watch 20", status(http.StatusGone)},
			{"state", j.stream(j.added("a/x", "3"), j.added("a/new", "12"), j.synced("30"))},
		},
		"in the state": {
			{"state", p.ended(unknownField("ADDED", unknown))},
			{"state", j.stream(j.added("a/x", "3"), j.added("a/new", "12"), j.synced("30"))},
		},
		"in a page": {
			{"state", status(http.StatusUnprocessableEntity)},
			{"page", whole(codec.MediaProtobuf, pageOf(t, "10", unknown))},
			{"page", j.pageBody("30", "", object{"a/new", "12"}, object{"a/x", "3"})},
			{"watch 30", j.stream()},
		},
	}
	for name, steps := range scripts {
		t.Run(name, func(t *testing.T) {
			w := &asked{}
			for i := range steps {
				steps[i].answer = w.note(steps[i].answer)
			}
			inWorld(t, configMaps, Options{}, steps, func(t *testing.T, w *world) {
				w.registry.Lookup(configMaps.gvr)
				pass(time.Minute)
				w.played(t)
				c := w.check(t, 30, "a/new", "a/x")
				if c.Resource.Source != codec.JSON {
					t.Errorf("store holds %s", c.Resource.Source)
				}
				if c.Resource.Style != codec.Typed || c.Resource.Kind != "ConfigMap" {
					t.Errorf("resource is %+v", c.Resource)
				}
				if data := c.Store.Snapshot().Get("a/new").Data; !bytes.HasPrefix(data, []byte(`{"kind":"ConfigMap","apiVersion":"v1",`)) &&
					!bytes.HasPrefix(data, []byte(`{"apiVersion":"v1","kind":"ConfigMap",`)) {
					t.Errorf("object is %s", data)
				}
			})
			for i, accept := range w.accepts[1:] {
				if name != "in a page" && accept != codec.MediaJSON {
					t.Errorf("request %d accepts %s", i+2, accept)
				}
			}
		})
	}
}

// pageOf is a page of one item, which holds what is not known.
func pageOf(t *testing.T, rv string, o object) []byte {
	t.Helper()
	_, event, err := proto.ParseEvent(unknownField("ADDED", o)[4:])
	if err != nil {
		t.Fatal(err)
	}
	u, err := proto.ParseEnvelope(event)
	if err != nil {
		t.Fatal(err)
	}
	list := protowire.AppendTag(nil, 1, protowire.BytesType)
	list = protowire.AppendBytes(list, append([]byte{0x0a, 0x00, 0x12, byte(len(rv))}, rv+"\x1a\x00"...))
	list = protowire.AppendTag(list, 2, protowire.BytesType)
	list = protowire.AppendBytes(list, u.Raw)
	envelope := append([]byte("k8s\x00"), 0x0a, 0x13)
	envelope = append(envelope, "\x0a\x02v1\x12\x0dConfigMapList"...)
	envelope = protowire.AppendTag(envelope, 2, protowire.BytesType)
	return append(protowire.AppendBytes(envelope, list), "\x1a\x00\x22\x00"...)
}

// asked notes what requests accept.
type asked struct {
	mu      sync.Mutex
	accepts []string
}

func (a *asked) note(next answerFunc) answerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		a.accepts = append(a.accepts, r.Header.Get("Accept"))
		a.mu.Unlock()
		next(w, r)
	}
}

// An upstream that knows no Protobuf, whatever was asked for.
func TestProtobufIsNotInsistedOn(t *testing.T) {
	j := configMaps
	j.protobuf = false
	scripts := map[string][]step{
		"streaming list": {
			{"state", j.ended(j.added("a/x", "3"), j.synced("10"))},
			{"state", j.stream(j.added("a/x", "3"), j.synced("10"))},
		},
		"pages": {
			{"state", status(http.StatusUnprocessableEntity)},
			{"page", j.pageBody("10", "", object{"a/x", "3"})},
			{"page", j.pageBody("10", "", object{"a/x", "3"})},
			{"watch 10", j.stream()},
		},
	}
	for name, steps := range scripts {
		t.Run(name, func(t *testing.T) {
			inWorld(t, configMaps, Options{}, steps, func(t *testing.T, w *world) {
				w.registry.Lookup(configMaps.gvr)
				pass(time.Minute)
				w.played(t)
				if c := w.check(t, 10, "a/x"); c.Resource.Source != codec.JSON {
					t.Errorf("store holds %s", c.Resource.Source)
				}
			})
		})
	}
}

// The text of a refusal is for a log line.
func TestEndlessRefusal(t *testing.T) {
	in := &endless{head: "because "}
	err := answer(&http.Response{StatusCode: http.StatusGone, Body: in})
	if !errors.Is(err, reflector.ErrExpired) || !strings.Contains(err.Error(), "because xxx") {
		t.Errorf("got %.100v", err)
	}
	if len(err.Error()) > 4<<10 || in.n > 4<<10 {
		t.Errorf("error has %d bytes of %d", len(err.Error()), in.n)
	}
}

// endless is a body that never comes to an end.
type endless struct {
	head string
	n    int
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.head)
	e.head = e.head[n:]
	for i := n; i < len(p); i++ {
		p[i] = 'x'
	}
	if e.n += len(p); e.n > 4*frameLimit {
		return 0, io.EOF
	}
	return len(p), nil
}

func (e *endless) Close() error { return nil }

// What is larger than any object can be is not read to its end.
func TestEndlessEvent(t *testing.T) {
	in := &endless{head: `{"type":"ADDED","object":{"data":"`}
	stream := newJSONStream(&source{}, in)
	if _, err := stream.Next(); !errors.Is(err, reflector.ErrRebuild) {
		t.Errorf("got %v", err)
	}
	if in.n > frameLimit {
		t.Errorf("read %d bytes, the limit is %d", in.n, frameLimit)
	}
}

// An upstream that takes its time is waited for, one that does nothing is not.
func TestNothingIsWaitedForWithoutEnd(t *testing.T) {
	half := func(d dialect) answerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			page := d.page("10", "", object{"a/x", "3"})
			w.Header().Set("Content-Type", codec.MediaJSON)
			_, _ = w.Write(page[:len(page)/2])
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}
	}
	refusal := func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = w.Write([]byte("half a mess"))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
	for name, d := range dialects {
		t.Run(name, func(t *testing.T) {
			steps := []step{
				{"discovery", hang},
				{"look", half(d)},
				{"state", hang},
				{"state", refusal},
				{"state", d.stream(d.added("a/gone", "3"))}, // and no more
				{"state", status(http.StatusUnprocessableEntity)},
				{"page", half(d)},
				{"page", hang},
				{"page", d.pageBody("10", "", object{"a/x", "3"})},
				{"watch 10", hang},
				{"watch 10", d.stream(d.added("a/y", "11"))}, // and no more
				{"watch 11", d.stream(d.added("a/z", "12"))},
			}
			inWorld(t, d, Options{CheckEvery: 1000 * time.Hour, Limits: Limits{Idle: 1000 * time.Hour}}, steps, func(t *testing.T, w *world) {
				w.registry.Lookup(d.gvr)
				pass(time.Hour)
				w.played(t)
				for i := range steps[1:] {
					wait := w.at[i+1].Sub(w.at[i])
					bound := wholeTimeout + time.Minute
					switch i {
					case 0, 2, 7, 9: // nothing came at all
						bound = headerTimeout + time.Minute
					case 4, 10: // the stream was open
						bound = 2*watchLife + overtime + time.Minute
					}
					if wait > bound {
						t.Errorf("waited %v after call %d, %q", wait, i, w.calls[i])
					}
				}
				if c, reason := w.registry.Lookup(d.gvr); c == nil {
					t.Fatal(reason)
				}
				w.check(t, 12, "a/x", "a/y", "a/z")
			})
		})
	}
}

// A slow upstream is not a dead one.
func TestSlowUpstreamIsWaitedFor(t *testing.T) {
	slowly := func(next answerFunc) answerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(headerTimeout * 9 / 10)
			next(w, r)
		}
	}
	for name, d := range dialects {
		t.Run(name, func(t *testing.T) {
			steps := []step{
				{"discovery", slowly(d.discovery())},
				{"look", slowly(whole(codec.MediaJSON, d.look()))},
				{"state", slowly(func(w http.ResponseWriter, r *http.Request) {
					d.ended(d.added("a/x", "3"))(w, r)
					time.Sleep(2 * headerTimeout)
					d.stream(d.synced("10"))(w, r)
				})},
			}
			inWorld(t, d, Options{}, steps, func(t *testing.T, w *world) {
				w.registry.Lookup(d.gvr)
				pass(6 * time.Minute)
				w.played(t)
				w.check(t, 10, "a/x")
				if n := w.logged("feed interrupted"); n != 0 {
					t.Errorf("interrupted %d times", n)
				}
			})
		})
	}
}

// Who is told when to come back does not come before.
func TestRetryAfterIsHonoured(t *testing.T) {
	d := widgets
	var at []time.Time
	refuse := func(w http.ResponseWriter, r *http.Request) {
		at = append(at, time.Now())
		status(http.StatusTooManyRequests, "Retry-After", "13")(w, r)
	}
	note := func(w http.ResponseWriter, r *http.Request) {
		at = append(at, time.Now())
		d.stream(d.synced("10"))(w, r)
	}
	inWorld(t, d, Options{}, []step{{"discovery", refuse}, {"look", refuse}, {"state", refuse}, {"state", note}}, func(t *testing.T, w *world) {
		w.registry.Lookup(d.gvr)
		pass(2 * time.Minute)
		w.played(t)
		for i := range at[1:] {
			if wait := at[i+1].Sub(at[i]); wait < 13*time.Second || wait > 30*time.Second {
				t.Errorf("came back after %v", wait)
			}
		}
	})
}

// A custom resource whose definition is deleted and made again is another
// resource: nothing of what was known before is kept.
func TestDefinitionMadeAnew(t *testing.T) {
	d := widgets
	other := d
	other.kind, other.namespaced = "Gadget", false
	steps := []step{
		{"state", d.cut(d.added("a/x", "3"), d.synced("10"))},
		{"watch 10", status(http.StatusNotFound)},
		{"discovery", status(http.StatusNotFound)}, // asked for again too early
		{"discovery", other.discovery()},
		{"look", whole(codec.MediaJSON, other.look())},
		{"state", other.stream(other.added("x", "30"), other.synced("40"))},
	}
	inWorld(t, d, Options{}, steps, func(t *testing.T, w *world) {
		w.registry.Lookup(d.gvr)
		pass(time.Second)
		if _, reason := w.registry.Lookup(d.gvr); reason != NotCacheable {
			t.Errorf("deleted resource is %q", reason)
		}
		if report := w.registry.Report(); len(report) != 0 {
			t.Errorf("deleted resource is reported: %v", report)
		}
		pass(absentFor)
		if _, reason := w.registry.Lookup(d.gvr); reason != NotInSync {
			t.Errorf("resource is %q", reason)
		}
		pass(time.Second)
		if _, reason := w.registry.Lookup(d.gvr); reason != NotCacheable {
			t.Errorf("resource that is still deleted is %q", reason)
		}
		pass(absentFor)
		w.registry.Lookup(d.gvr)
		pass(time.Second)
		w.played(t)
		c := w.check(t, 40, "x")
		if r := c.Resource; r.Kind != "Gadget" || r.ListKind != "GadgetList" || r.Namespaced {
			t.Errorf("resource is %+v", r)
		}
	})
}

// Watches of a custom resource end when its definition changes; what is then
// selectable or printed is read anew.
func TestDefinitionChanged(t *testing.T) {
	d := widgets
	crd := func(field string) answerFunc {
		return whole(codec.MediaJSON, fmt.Appendf(nil, `{"metadata":{"uid":"u","generation":%d},"spec":{"versions":[{"name":"v1","selectableFields":[{"jsonPath":".spec.%s"}]}]}}`, len(field), field))
	}
	steps := []step{
		{"definition", crd("color")},
		{"state", d.cut(d.added("a/x", "3"), d.synced("10"))},
		{"definition", status(http.StatusInternalServerError)}, // cannot be found out
		{"definition", crd("color")},
		{"watch 10", d.cut(d.bookmark("11"))},
		{"definition", crd("size")},
		{"definition", crd("size")},
		{"state", d.stream(d.added("a/x", "3"), d.synced("20"))},
	}
	inWorld(t, d, Options{}, steps, func(t *testing.T, w *world) {
		w.registry.Lookup(d.gvr)
		pass(time.Minute)
		w.played(t)
		c := w.check(t, 20, "a/x")
		_, size := c.Field("spec.size")
		_, color := c.Field("spec.color")
		if !size || color {
			t.Errorf("selectable by size: %v, by color: %v", size, color)
		}
	})
}

// definedAs is a definition of widgets at a generation, with a property in its
// schema and a column.
func definedAs(generation int, property, column string) answerFunc {
	return whole(codec.MediaJSON, fmt.Appendf(nil, `{"metadata":{"uid":"u","generation":%d},"spec":{"versions":[{"name":"v1","schema":{%q:{}},
		"additionalPrinterColumns":[{"name":%q,"type":"string","jsonPath":".spec.x"}]}]},"status":{"acceptedNames":{"kind":"Widget"}}}`, generation, property, column))
}

// What is only printed otherwise leaves the store and its watches as they are,
// but for those of Tables. It must be all that has changed, and long enough
// after the store was built for the upstream to have known it before.
func TestDefinitionReprinted(t *testing.T) {
	d := widgets
	for _, row := range []struct {
		name  string
		after time.Duration // from when the store was built
		then  answerFunc
		kept  bool
	}{
		{"other columns", 2 * settled, definedAs(2, "p", "B"), true},
		{"soon", settled / 2, definedAs(2, "p", "B"), false},
		{"other schema", 2 * settled, definedAs(2, "q", "A"), false},
		{"other schema and columns", 2 * settled, definedAs(2, "q", "B"), false},
		{"changed twice", 2 * settled, definedAs(3, "p", "B"), false},
		{"nothing", 2 * settled, definedAs(1, "p", "A"), true},
	} {
		t.Run(row.name, func(t *testing.T) {
			steps := []step{
				{"definition", definedAs(1, "p", "A")},
				{"state", d.endedAfter(row.after, d.added("a/x", "3"), d.synced("10"))},
				{"definition", row.then},
			}
			switch {
			case row.kept:
				steps = append(steps, step{"watch 10", d.stream(d.bookmark("20"))})
			case row.after > settled: // it is read again for the new store
				steps = append(steps, step{"definition", row.then})
				fallthrough
			default:
				steps = append(steps, step{"state", d.stream(d.added("a/x", "3"), d.synced("20"))})
			}
			inWorld(t, d, Options{CheckEvery: time.Hour}, steps, func(t *testing.T, w *world) {
				w.registry.Lookup(d.gvr)
				pass(row.after / 2)
				before, reason := w.registry.Lookup(d.gvr)
				if before == nil {
					t.Fatal(reason)
				}
				pass(row.after)
				w.played(t)
				after := w.check(t, 20, "a/x")
				if kept := after.Store == before.Store; kept != row.kept {
					t.Errorf("the store is kept: %v", kept)
				}
				reprinted := strings.Contains(string(after.Resource.Columns.AppendDefinitions(nil)), `"B"`)
				select {
				case <-before.ColumnsChanged():
				default:
					if row.kept && reprinted {
						t.Error("watches of Tables go on")
					}
				}
				if want := row.name != "nothing" && row.name != "other schema"; reprinted != want {
					t.Errorf("it has the new column: %v", reprinted)
				}
			})
		})
	}
}

// What the upstream was last seen to print is asked for again, not what it
// printed when the store was built.
func TestDefinitionPrintedLater(t *testing.T) {
	d := widgets
	steps := []step{
		{"definition", definedAs(1, "p", "A")},
		{"state", d.endedAfter(2*settled, d.added("a/x", "3"), d.synced("10"))},
		{"definition", definedAs(2, "p", "B")},
		{"table", status(http.StatusNotAcceptable)},
		{"watch 10", d.endedAfter(settled, d.bookmark("20"))},
		{"definition", definedAs(2, "p", "B")},
		{"table", status(http.StatusServiceUnavailable)}, // says nothing
		{"definition", definedAs(2, "p", "B")},
		{"table", whole(codec.MediaJSON, []byte(`{"columnDefinitions":[{"name":"Name","type":"string","format":"name","description":"Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names","priority":0},{"name":"B","type":"string","format":"","description":"Custom resource definition column (in JSONPath format): .spec.x","priority":0}]}`))},
		{"watch 20", d.stream(d.bookmark("30"))},
	}
	inWorld(t, d, Options{CheckEvery: time.Hour}, steps, func(t *testing.T, w *world) {
		w.registry.Lookup(d.gvr)
		pass(5 * settled)
		w.played(t)
		c := w.check(t, 30, "a/x")
		if !c.ColumnsMatch || !strings.Contains(string(c.Resource.Columns.AppendDefinitions(nil)), `"B"`) {
			t.Errorf("columns are %s, match: %v", c.Resource.Columns.AppendDefinitions(nil), c.ColumnsMatch)
		}
	})
}

// endedAfter is a stream that the upstream ends after a while.
func (d dialect) endedAfter(life time.Duration, frames ...[]byte) answerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		d.ended(frames...)(w, r)
		time.Sleep(life)
	}
}

// What discovery does not offer for reading is left alone for a while.
func TestNotCacheable(t *testing.T) {
	d := widgets
	resources := map[string]string{
		"none":                 `{"resources":[]}`,
		"another":              `{"resources":[{"name":"widgets/status","kind":"Widget","verbs":["list","watch"]}]}`,
		"cannot be watched":    `{"resources":[{"name":"widgets","kind":"Widget","verbs":["get","list"]}]}`,
		"cannot be listed":     `{"resources":[{"name":"widgets","kind":"Widget","verbs":["get","watch","create"]}]}`,
		"says nothing of this": `{"kind":"Status"}`,
		"strange":              `{"resources":[1,"widgets",null,{"name":7},{"verbs":"list"}]}`,
	}
	for name, answer := range resources {
		t.Run(name, func(t *testing.T) {
			inWorld(t, d, Options{}, []step{{"discovery", whole(codec.MediaJSON, []byte(answer))}}, func(t *testing.T, w *world) {
				w.registry.Lookup(d.gvr)
				pass(absentFor / 2)
				if _, reason := w.registry.Lookup(d.gvr); reason != NotCacheable {
					t.Errorf("resource is %q", reason)
				}
			})
		})
	}
	t.Run("refuses the method", func(t *testing.T) {
		inWorld(t, d, Options{}, []step{{"look", status(http.StatusMethodNotAllowed)}}, func(t *testing.T, w *world) {
			w.registry.Lookup(d.gvr)
			pass(absentFor / 2)
			if _, reason := w.registry.Lookup(d.gvr); reason != NotCacheable {
				t.Errorf("resource is %q", reason)
			}
		})
	})
}

func TestExcludedResources(t *testing.T) {
	excluded := []schema.GroupVersionResource{
		{Version: "v1", Resource: "secrets"}, {Version: "v2", Resource: "secrets"},
		{Group: "example.com", Version: "v1", Resource: "widgets"},
	}
	inWorld(t, widgets, Options{Exclude: []string{"secrets", "widgets.example.com", "events"}}, nil, func(t *testing.T, w *world) {
		for _, r := range excluded {
			if c, reason := w.registry.Lookup(r); c != nil || reason != Excluded {
				t.Errorf("%s: %v, %q", r, c, reason)
			}
		}
		pass(time.Minute)
		if len(w.calls) != 0 || len(w.registry.Report()) != 0 {
			t.Errorf("calls %q, report %v", w.calls, w.registry.Report())
		}
		// The same name in another group is another resource.
		if _, reason := w.registry.Lookup(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "secrets"}); reason != NotInSync {
			t.Errorf("secrets of another group: %s", reason)
		}
		pass(time.Second)
	})
}

// However many come first, one feed starts.
func TestFirstRequestsShareOneFeed(t *testing.T) {
	d := configMaps
	inWorld(t, d, Options{}, []step{{"state", d.stream(d.added("a/x", "3"), d.synced("10"))}}, func(t *testing.T, w *world) {
		var callers sync.WaitGroup
		for range 50 {
			callers.Go(func() {
				for range 20 {
					if c, reason := w.registry.Lookup(d.gvr); c == nil && reason != NotInSync {
						t.Error(reason)
					}
				}
			})
		}
		callers.Wait()
		if reason := w.registry.start(d.gvr); reason != NotInSync { // by one who came late
			t.Error(reason)
		}
		pass(time.Second)
		w.played(t)
		w.check(t, 10, "a/x")
		if diff := cmp.Diff([]string{"state"}, w.calls); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
		if w.open[d.gvr.Resource] != 1 {
			t.Errorf("%d watches are open", w.open[d.gvr.Resource])
		}
	})
}

func TestNoFeedOutsideRun(t *testing.T) {
	m := New(Options{Log: zap.NewNop()})
	if _, reason := m.Lookup(configMaps.gvr); reason != NotRunning {
		t.Errorf("before Run: %s", reason)
	}
	d := configMaps
	var stopped *Registry
	inWorld(t, d, Options{}, []step{{"state", d.stream(d.added("a/x", "3"), d.synced("10"))}}, func(t *testing.T, w *world) {
		stopped = w.registry
		w.registry.Lookup(d.gvr)
		pass(time.Second)
	})
	if _, reason := stopped.Lookup(d.gvr); reason != NotRunning {
		t.Errorf("after Run: %s", reason)
	}
	if len(stopped.Report()) != 0 {
		t.Errorf("after Run there is %v", stopped.Report())
	}
}

// Feeds that are anywhere in their work end with Run: the bubble waits for
// them all.
func TestRunEndsFeedsWhereverTheyAre(t *testing.T) {
	d := configMaps
	places := map[string][]step{
		"discovery": {{"discovery", hang}},
		"state":     {{"state", hang}},
		"in it":     {{"state", d.stream(d.added("a/x", "3"))}},
		"page":      {{"state", status(http.StatusUnprocessableEntity)}, {"page", hang}},
		"stream":    {{"state", d.stream(d.synced("10"))}},
		"resuming":  {{"state", d.ended(d.synced("10"))}, {"watch 10", hang}},
		"pause":     {{"state", status(http.StatusInternalServerError, "Retry-After", "1000")}},
		"absent":    {{"discovery", status(http.StatusNotFound)}},
	}
	for name, steps := range places {
		t.Run(name, func(t *testing.T) {
			inWorld(t, d, Options{}, steps, func(t *testing.T, w *world) {
				w.registry.Lookup(d.gvr)
				pass(time.Second)
				w.played(t)
			})
		})
	}
}

// Watchers of a store that is given up learn that it has ended.
func TestWithdrawnStoreEnds(t *testing.T) {
	for name, d := range dialects {
		t.Run(name, func(t *testing.T) {
			inWorld(t, d, Options{}, nil, func(t *testing.T, w *world) {
				again := make(chan bool)
				w.steps = []step{
					{"state", func(w http.ResponseWriter, r *http.Request) {
						d.ended(d.added("a/x", "3"), d.synced("10"))(w, r)
						<-again
						_, _ = w.Write(d.failure(http.StatusGone))
					}},
					{"state", d.stream(d.synced("40"))},
				}
				w.registry.Lookup(d.gvr)
				pass(time.Second)
				before := w.check(t, 10, "a/x")
				cursor, err := before.Store.Watch(cache.Scope{}, 10)
				if err != nil {
					t.Fatal(err)
				}
				defer cursor.Close()
				close(again)
				synctest.Wait()
				select {
				case <-before.Store.Done():
				default:
					t.Error("the old store goes on")
				}
				pass(time.Second)
				if after := w.check(t, 40); after == before {
					t.Error("the old collection is back")
				}
			})
		})
	}
}

// The warnings of the upstream are those of Sluice.
func TestWarningsAreKept(t *testing.T) {
	d := configMaps
	look := func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Warning"] = []string{`299 - "old"`, `299 - "older"`}
		whole(codec.MediaJSON, d.look())(w, r)
	}
	inWorld(t, d, Options{}, []step{{"look", look}, {"state", d.stream(d.synced("10"))}}, func(t *testing.T, w *world) {
		w.registry.Lookup(d.gvr)
		pass(time.Second)
		if diff := cmp.Diff([]string{`299 - "old"`, `299 - "older"`}, w.check(t, 10).Warnings); diff != "" {
			t.Error(diff)
		}
	})
}

// Stores that nobody reads are stopped, and start again on demand.
func TestIdleStoresStop(t *testing.T) {
	d := configMaps
	steps := []step{
		{"state", d.stream(d.added("a/x", "3"), d.synced("10"))},
		{"state", d.stream(d.synced("20"))},
	}
	inWorld(t, d, Options{CheckEvery: 1000 * time.Hour, Limits: Limits{Idle: 90 * time.Second}}, steps, func(t *testing.T, w *world) {
		w.registry.Lookup(d.gvr)
		for range 2 {
			pass(time.Minute)
			w.check(t, 10, "a/x") // is a read
		}
		pass(2*time.Minute + 2*limitsEvery)
		if n := len(w.registry.Report()); n != 0 {
			t.Errorf("%d stores are left", n)
		}
		if _, reason := w.registry.Lookup(d.gvr); reason != NotInSync {
			t.Errorf("resource is %q", reason)
		}
		pass(time.Second)
		w.check(t, 20)
	})
}

func TestTooManyResources(t *testing.T) {
	d := configMaps
	steps := []step{{"state", d.stream(d.synced("10"))}}
	inWorld(t, d, Options{Limits: Limits{Resources: 1}}, steps, func(t *testing.T, w *world) {
		w.registry.Lookup(d.gvr)
		pass(time.Second)
		if _, reason := w.registry.Lookup(widgets.gvr); reason != TooManyResources {
			t.Errorf("second resource is %q", reason)
		}
		w.check(t, 10)
	})
}

// What is known of a resource survives answers that are no answers at all.
func TestNonsenseForMetadata(t *testing.T) {
	d := widgets
	nonsense := []string{"", "{", `{"metadata":{"resourceVersion":"10"},"items":[`, `{"items":[{"metadata":`, "[]", "null", "k8s\x00", "<html>", `{"items":{}}`, "\x00"}
	for _, answer := range nonsense {
		for _, contentType := range []string{codec.MediaJSON, codec.MediaProtobuf} {
			t.Run(contentType+answer, func(t *testing.T) {
				steps := []step{
					{"state", d.stream(d.added("a/x", "3"), d.synced("10"))},
					{"metadata", whole(contentType, []byte(answer))},
					{"metadata", whole(contentType, []byte(answer))},
				}
				inWorld(t, d, Options{}, steps, func(t *testing.T, w *world) {
					w.registry.Lookup(d.gvr)
					pass(time.Second)
					c := w.check(t, 10, "a/x")
					src := &source{upstream: w.registry.options.Upstream, gvr: d.gvr}
					if err := src.compare(t.Context(), c.Store); err == nil {
						t.Error("compared well")
					}
					if version, err := src.Probe(t.Context()); err == nil && version != 10 {
						t.Errorf("probed version %d", version)
					}
					w.played(t)
				})
			})
		}
	}
}

// A chaser reports what it was told, and ends on everything else.
func TestChaserFaults(t *testing.T) {
	for name, d := range dialects {
		tests := []struct {
			name   string
			answer answerFunc
			told   string
		}{
			{"behaves", d.ended(d.added("a/x", "11"), d.deleted("a/x", "12"), d.bookmark("13")), "e11 e12 b13"},
			{"cut", d.cut(d.added("a/x", "11"), d.bookmark("13")[:7]), "e11"},
			{"error", d.ended(d.failure(http.StatusGone), d.bookmark("13")), ""},
			{"unknown type", d.ended(d.added("a/x", "11"), d.event("RENAMED", object{"a/x", "12"}), d.bookmark("13")), "e11"},
			{"no version", d.ended(d.added("a/x", ""), d.bookmark("13")), ""},
			{"strange version", d.ended(d.bookmark("13x"), d.bookmark("13")), ""},
			{"nonsense", whole(d.contentType(), []byte("<html>")), ""},
			{"refused", status(http.StatusGone), ""},
		}
		for _, tt := range tests {
			t.Run(name+"/"+tt.name, func(t *testing.T) {
				inWorld(t, d, Options{}, []step{{"metadata", tt.answer}}, func(t *testing.T, w *world) {
					var told []string
					note := func(kind string) func(uint64) {
						return func(v uint64) { told = append(told, fmt.Sprint(kind, v)) }
					}
					src := &source{upstream: w.registry.options.Upstream, gvr: d.gvr}
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					if err := src.ProbeWatch(ctx, 10, note("e"), note("b")); err == nil || ctx.Err() != nil {
						t.Errorf("chaser ended with %v", err)
					}
					if got := strings.Join(told, " "); got != tt.told {
						t.Errorf("told %q, want %q", got, tt.told)
					}
				})
			})
		}
	}
}
