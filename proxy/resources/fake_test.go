package resources

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"sluice/codec"
	"sluice/proxy/proxytest"
	"sluice/proxy/upstream"
)

// fake is an upstream that plays one step for each request of a feed, over
// real HTTP on connections in memory: time is that of a synctest bubble. It is
// there to misbehave; how an apiserver behaves is tested with the real one.
type fake struct {
	t  *testing.T
	mu sync.Mutex
	// steps are played in order, each in answer to the call that it names.
	// Calls that describe the resource are answered by themselves, unless
	// their turn has come in the script.
	steps []step
	calls []string    // what was asked, but for what describes the resource
	at    []time.Time // when
	as    dialect
}

// step answers one call: "state", "watch 10", "page", "page TOKEN", "discovery",
// "look", "definition".
type step struct {
	call   string
	answer answerFunc
}

type answerFunc func(w http.ResponseWriter, r *http.Request)

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	call := callOf(r)
	f.mu.Lock()
	describes := f.describes(call) != nil
	var answer answerFunc
	switch {
	case len(f.steps) > 0 && f.steps[0].call == call:
		answer = f.steps[0].answer
		f.steps = f.steps[1:]
		f.note(call)
	case describes:
		answer = f.describes(call)
	case len(f.steps) > 0:
		f.t.Errorf("call after %q is %q, want %q", f.calls, call, f.steps[0].call)
		answer = status(http.StatusTeapot)
	default:
		f.note(call)
		answer = f.as.stream()
	}
	f.mu.Unlock()
	answer(w, r)
}

func (f *fake) note(call string) {
	f.calls = append(f.calls, call)
	f.at = append(f.at, time.Now())
}

// callOf names a request.
func callOf(r *http.Request) string {
	q := r.URL.Query()
	collection := strings.HasSuffix(r.URL.Path, "/configmaps") || strings.HasSuffix(r.URL.Path, "/widgets")
	switch {
	case strings.Contains(r.URL.Path, "customresourcedefinitions"):
		return "definition"
	case !collection:
		return "discovery"
	case strings.Contains(r.Header.Get("Accept"), "as=Table"):
		return "table"
	case strings.Contains(r.Header.Get("Accept"), "as=Partial"):
		return "metadata"
	case q.Get("sendInitialEvents") != "":
		return "state"
	case q.Get("watch") != "":
		return "watch " + q.Get("resourceVersion")
	case q.Get("limit") == "1":
		return "look"
	case q.Get("limit") != strconv.Itoa(pageSize):
		return "a page without limit"
	}
	return strings.TrimSpace("page " + q.Get("continue"))
}

// describes returns the answer to a call that asks what the resource is.
func (f *fake) describes(call string) answerFunc {
	switch call {
	case "discovery":
		return f.as.discovery()
	case "look":
		return whole(codec.MediaJSON, f.as.look())
	case "definition":
		return whole(codec.MediaJSON, []byte(`{"spec":{"versions":[{"name":"v1"}]}}`))
	case "table":
		return status(http.StatusNotAcceptable)
	}
	return nil
}

// object is a key and a version.
type object struct {
	key string // "a/x", or "x" if cluster-scoped
	rv  string
}

func (o object) names() (namespace, name string) {
	if namespace, name, ok := strings.Cut(o.key, "/"); ok {
		return namespace, name
	}
	return "", o.key
}

// dialect is how an upstream speaks of one resource.
type dialect struct {
	gvr        schema.GroupVersionResource
	kind       string
	namespaced bool
	protobuf   bool
}

// The two kinds of resource: one that is compiled in, and one that is not.
var (
	configMaps = dialect{gvr: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, kind: "ConfigMap", namespaced: true, protobuf: true}
	widgets    = dialect{gvr: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}, kind: "Widget", namespaced: true}
	dialects   = map[string]dialect{"Protobuf": configMaps, "JSON": widgets}
)

func (d dialect) apiVersion() string { return d.gvr.GroupVersion().String() }

func (d dialect) contentType() string {
	if d.protobuf {
		return codec.MediaProtobuf + ";stream=watch"
	}
	return codec.MediaJSON
}

func (d dialect) discovery() answerFunc {
	return whole(codec.MediaJSON, fmt.Appendf(nil,
		`{"kind":"APIResourceList","resources":[{"name":%q,"kind":%q,"namespaced":%v,"verbs":["get","list","watch"]}]}`,
		d.gvr.Resource, d.kind, d.namespaced))
}

// look is a list as JSON, which tells by its order what prints it.
func (d dialect) look() []byte {
	if d.gvr.Group == "" {
		return fmt.Appendf(nil, `{"kind":"%sList","apiVersion":%q,"metadata":{"resourceVersion":"1"},"items":[]}`, d.kind, d.apiVersion())
	}
	return fmt.Appendf(nil, `{"apiVersion":%q,"items":[],"kind":"%sList","metadata":{"continue":"","resourceVersion":"1"}}`, d.apiVersion(), d.kind)
}

// page is a page of a list.
func (d dialect) page(rv, next string, objects ...object) []byte {
	if !d.protobuf {
		var items []string
		for _, o := range objects {
			items = append(items, string(d.json(o, "")))
		}
		return fmt.Appendf(nil, `{"apiVersion":%q,"items":[%s],"kind":"%sList","metadata":{"continue":%q,"resourceVersion":%q}}`,
			d.apiVersion(), strings.Join(items, ","), d.kind, next, rv)
	}
	list := &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: rv, Continue: next}}
	list.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMapList"})
	for _, o := range objects {
		list.Items = append(list.Items, *d.configMap(o, ""))
	}
	return enveloped(list)
}

func (d dialect) json(o object, annotation string) []byte {
	namespace, name := o.names()
	meta, _ := json.Marshal(metav1.ObjectMeta{
		Namespace: namespace, Name: name, ResourceVersion: o.rv, Annotations: annotations(annotation),
	})
	return fmt.Appendf(nil, `{"apiVersion":%q,"kind":%q,"metadata":%s}`, d.apiVersion(), d.kind, meta)
}

func annotations(name string) map[string]string {
	if name == "" {
		return nil
	}
	return map[string]string{name: "true"}
}

func (d dialect) configMap(o object, annotation string) *corev1.ConfigMap {
	m := &corev1.ConfigMap{Data: map[string]string{"key": "value"}}
	m.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"})
	m.Namespace, m.Name = o.names()
	m.ResourceVersion, m.Annotations = o.rv, annotations(annotation)
	return m
}

// event is one frame of a watch.
func (d dialect) event(kind string, o object) []byte {
	if d.protobuf {
		return d.frame(kind, enveloped(d.configMap(o, "")))
	}
	return d.frame(kind, d.json(o, ""))
}

func (d dialect) added(key, rv string) []byte    { return d.event("ADDED", object{key, rv}) }
func (d dialect) modified(key, rv string) []byte { return d.event("MODIFIED", object{key, rv}) }
func (d dialect) deleted(key, rv string) []byte  { return d.event("DELETED", object{key, rv}) }
func (d dialect) bookmark(rv string) []byte      { return d.event("BOOKMARK", object{"", rv}) }

// synced is the bookmark that ends the state of a streaming list.
func (d dialect) synced(rv string) []byte {
	if d.protobuf {
		return d.frame("BOOKMARK", enveloped(d.configMap(object{"", rv}, metav1.InitialEventsAnnotationKey)))
	}
	return d.frame("BOOKMARK", d.json(object{"", rv}, metav1.InitialEventsAnnotationKey))
}

// failure is an ERROR event.
func (d dialect) failure(code int32) []byte {
	s := &metav1.Status{Status: metav1.StatusFailure, Code: code, Message: "what happened"}
	s.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Status"})
	if d.protobuf {
		return d.frame("ERROR", enveloped(s))
	}
	raw, _ := json.Marshal(s)
	return d.frame("ERROR", raw)
}

func (d dialect) frame(kind string, object []byte) []byte {
	if !d.protobuf {
		return fmt.Appendf(nil, "{\"type\":%q,\"object\":%s}\n", kind, object)
	}
	e := &metav1.WatchEvent{Type: kind, Object: runtime.RawExtension{Raw: object}}
	raw, err := e.Marshal()
	if err != nil {
		panic(err)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(raw))), raw...)
}

func enveloped(o runtime.Object) []byte {
	var b strings.Builder
	if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(o, &b); err != nil {
		panic(err)
	}
	return []byte(b.String())
}

// whole answers with a whole body.
func whole(contentType string, data []byte) answerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write(data)
	}
}

// status refuses, with pairs of headers.
func status(code int, headers ...string) answerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, "refused")
	}
}

func (d dialect) pageBody(rv, next string, objects ...object) answerFunc {
	contentType := codec.MediaJSON
	if d.protobuf {
		contentType = codec.MediaProtobuf
	}
	return whole(contentType, d.page(rv, next, objects...))
}

// stream writes frames and then stays open until the client goes.
func (d dialect) stream(frames ...[]byte) answerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		d.ended(frames...)(w, r)
		<-r.Context().Done()
	}
}

// ended writes frames and ends in an orderly way.
func (d dialect) ended(frames ...[]byte) answerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", d.contentType())
		w.WriteHeader(http.StatusOK)
		for _, frame := range frames {
			_, _ = w.Write(frame)
		}
		_ = http.NewResponseController(w).Flush()
	}
}

// cut writes frames and breaks the connection.
func (d dialect) cut(frames ...[]byte) answerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		d.ended(frames...)(w, r)
		panic(http.ErrAbortHandler)
	}
}

// hang neither answers nor ends.
func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// world is a Registry before a fake upstream, in a bubble.
type world struct {
	*fake
	registry *Registry
	log      *observer.ObservedLogs
	open     map[string]int // watches, by resource; guarded by fake.mu
}

// inWorld runs a test in a bubble, and ends all that runs there.
func inWorld(t *testing.T, as dialect, o Options, steps []step, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{fake: &fake{t: t, steps: steps, as: as}, open: map[string]int{}}
		server := proxytest.Serve(w.fake)
		u, err := upstream.New(upstream.Options{Config: &rest.Config{Host: "http://upstream", Dial: server.Dial}})
		if err != nil {
			t.Fatal(err)
		}
		core, logs := observer.New(zap.DebugLevel)
		w.log = logs
		o.Upstream, o.Log, o.Watches = u, zap.New(core), w.watches
		w.registry = New(o)
		ctx, end := context.WithCancel(t.Context())
		ran := make(chan error, 1)
		go func() { ran <- w.registry.Run(ctx) }()
		synctest.Wait() // it runs
		defer func() {
			end()
			if err := <-ran; err != nil {
				t.Error(err)
			}
			w.checkClosed()
			u.Close()
			server.Close(t)
		}()
		test(t, w)
	})
}

// checkClosed fails if a watch is open behind the end of Run.
func (w *world) checkClosed() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for resource, n := range w.open {
		if n != 0 {
			w.t.Errorf("%d watches of %s are still open", n, resource)
		}
	}
}

func (w *world) watches(_, _, resource string) func() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open[resource]++
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.open[resource]--
	}
}

// pass lets virtual time pass until nothing more happens.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// logged counts log lines.
func (w *world) logged(message string) int { return w.log.FilterMessage(message).Len() }

// check compares the collection with what is wanted of it.
func (w *world) check(t *testing.T, version uint64, keys ...string) *CachedResource {
	t.Helper()
	c, reason := w.registry.Lookup(w.as.gvr)
	if version == 0 {
		if c != nil {
			t.Errorf("there is a collection at version %d", c.Store.Snapshot().Version)
		}
		return nil
	}
	if c == nil {
		for _, line := range w.log.All() {
			t.Log(line.Message, line.ContextMap())
		}
		t.Fatalf("there is no collection: %s; calls %q", reason, w.calls)
	}
	state := c.Store.Snapshot()
	var got []string
	for o := range state.Objects(all) {
		got = append(got, string(o.Key))
	}
	if state.Version != version || strings.Join(got, " ") != strings.Join(keys, " ") {
		t.Errorf("store has %q at version %d, want %q at %d", got, state.Version, keys, version)
	}
	return c
}

// played fails if part of the script is left.
func (w *world) played(t *testing.T) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.steps {
		t.Errorf("%q was not asked for; calls are %q", s.call, w.calls)
	}
}
