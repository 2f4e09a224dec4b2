package discovery

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/sharding"

	"sluice/codec"
	"sluice/codec/json"
	"sluice/codec/proto"
	"sluice/test/support/fake"
)

// describe describes a resource of a fake apiserver.
func describe(t *testing.T, r fake.Resource, jsonOnly bool, steps []fake.Step) (d *Description, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		a := fake.New(t, r, steps)
		u, end := a.Upstream()
		defer end()
		d, err = New(u, r.GVR).Describe(t.Context(), nil, jsonOnly)
		a.CheckPlayed(t)
	})
	return d, err
}

func respond(call string, h http.HandlerFunc) fake.Step { return fake.Step{Call: call, Respond: h} }

func respondJSON(call, body string) []fake.Step {
	return []fake.Step{respond(call, fake.Body(codec.MediaJSON, []byte(body)))}
}

func TestOnlyWhatTheApiserverItselfListsAndWatchesIsCacheable(t *testing.T) {
	for name, steps := range map[string][]fake.Step{
		"no resources":         respondJSON("discovery", `{"resources":[]}`),
		"another resource":     respondJSON("discovery", `{"resources":[{"name":"widgets/status","kind":"Widget","verbs":["list","watch"]}]}`),
		"no watch":             respondJSON("discovery", `{"resources":[{"name":"widgets","kind":"Widget","verbs":["get","list"]}]}`),
		"no list":              respondJSON("discovery", `{"resources":[{"name":"widgets","kind":"Widget","verbs":["get","watch","create"]}]}`),
		"another kind":         respondJSON("discovery", `{"kind":"Status"}`),
		"malformed resources":  respondJSON("discovery", `{"resources":[1,"widgets",null,{"name":7},{"verbs":"list"}]}`),
		"list without kind":    respondJSON("first list", `{"apiVersion":"example.com/v1","items":[]}`),
		"CRD without version":  respondJSON("crd", `{"spec":{"versions":[{"name":"v2"}]}}`),
		"CRD without versions": respondJSON("crd", `{}`),
	} {
		if _, err := describe(t, fake.Widgets, false, steps); !errors.Is(err, ErrNotCacheable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	extension := append([]fake.Step{respond("discovery", fake.Widgets.Discovery())}, respondJSON("discovery", `{"spec":{"service":{"name":"s"}}}`)...)
	if _, err := describe(t, fake.Widgets, false, extension); !errors.Is(err, ErrNotCacheable) {
		t.Errorf("extension server: %v", err)
	}
}

// A handler may lag behind what is stored in etcd. The error wraps no status, which would say that the resource is absent.
func TestWhatTheApiserverServesOtherwiseThanItIsDefinedIsNotDescribed(t *testing.T) {
	const crd = `{"spec":{"versions":[{"name":"v1"}],"scope":%q},"status":{"acceptedNames":{"kind":%q,"listKind":%q}}}`
	serves := func(resource string) fake.Step {
		return respondJSON("discovery", fmt.Sprintf(`{"resources":[{"name":%q}]}`, resource))[0]
	}
	missing := fake.Refuse(http.StatusNotFound)
	for name, row := range map[string]struct {
		steps   []fake.Step
		lagging bool
	}{
		"as it is defined":           {respondJSON("crd", fmt.Sprintf(crd, "Namespaced", "Widget", "WidgetList")), false},
		"another kind":               {respondJSON("crd", fmt.Sprintf(crd, "Namespaced", "Gadget", "WidgetList")), true},
		"another kind of lists":      {respondJSON("crd", fmt.Sprintf(crd, "Namespaced", "Widget", "Widgets")), true},
		"another scope":              {respondJSON("crd", fmt.Sprintf(crd, "Cluster", "Widget", "WidgetList")), true},
		"names not yet accepted":     {respondJSON("crd", fmt.Sprintf(crd, "Namespaced", "", "")), true},
		"no CRD":                     {[]fake.Step{respond("crd", missing), serves("customresourcedefinitions")}, true},
		"an apiserver without CRDs":  {[]fake.Step{respond("crd", missing), respond("discovery", missing)}, false},
		"typed, with a CRD":          {respondJSON("first list", `{"kind":"WidgetList"}`), true},
		"typed, without a CRD":       {append(respondJSON("first list", `{"kind":"WidgetList"}`), respond("crd", missing)), false},
		"typed, the CRD is not read": {append(respondJSON("first list", `{"kind":"WidgetList"}`), respond("crd", fake.Refuse(http.StatusForbidden))), false},
		"no APIService": {[]fake.Step{
			respond("discovery", fake.Widgets.Discovery()), respond("discovery", missing), serves("apiservices"),
		}, true},
		"an apiserver without an aggregator": {[]fake.Step{
			respond("discovery", fake.Widgets.Discovery()), respond("discovery", missing), respond("discovery", missing),
		}, false},
	} {
		_, err := describe(t, fake.Widgets, false, row.steps)
		if errors.Is(err, errLagging) != row.lagging || (err != nil) != row.lagging || apierrors.IsNotFound(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheAggregatorItselfNeedsNoAPIService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := fake.New(t, fake.Widgets, []fake.Step{
			respond("discovery", fake.Refuse(http.StatusNotFound)), respondJSON("discovery", `{"resources":[{"name":"apiservices"}]}`)[0],
		})
		u, end := a.Upstream()
		defer end()
		if aggregated, err := New(u, APIServices).Aggregated(t.Context()); aggregated || err != nil {
			t.Errorf("aggregated: %v, %v", aggregated, err)
		}
	})
}

func TestDescribeReturnsTheApiserversErrors(t *testing.T) {
	for _, call := range []string{"discovery", "first list"} {
		steps := []fake.Step{respond(call, fake.Refuse(http.StatusForbidden))}
		if _, err := describe(t, fake.Widgets, false, steps); !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v", call, err)
		}
	}
	steps := []fake.Step{respond("table", fake.Refuse(http.StatusServiceUnavailable))}
	if _, err := describe(t, fake.ConfigMaps, false, steps); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("table: %v", err)
	}
}

// A row may be a thousand times as long as its object.
func TestColumnDefinitionsAreReadWithoutRows(t *testing.T) {
	table := respond("table", func(w http.ResponseWriter, r *http.Request) {
		if q := r.URL.Query(); q.Get("fieldSelector") != "metadata.name=-" || q.Get("resourceVersion") != "0" {
			t.Errorf("the Table is read by %s", r.URL.RawQuery)
		}
		fake.Refuse(http.StatusNotAcceptable)(w, r)
	})
	for _, r := range []fake.Resource{fake.ConfigMaps, fake.Widgets} {
		if _, err := describe(t, r, false, []fake.Step{table}); err != nil {
			t.Errorf("%s: %v", r.GVR, err)
		}
	}
}

func TestEncodingOfStoredObjects(t *testing.T) {
	for _, tt := range []struct {
		name     string
		resource fake.Resource
		jsonOnly bool
		want     codec.Encoding
		style    codec.Style
	}{
		{"compiled in", fake.ConfigMaps, false, codec.Protobuf, codec.Typed},
		{"compiled in, JSON only", fake.ConfigMaps, true, codec.JSON, codec.Typed},
		{"custom", fake.Widgets, false, codec.JSON, codec.Unstructured},
	} {
		d, err := describe(t, tt.resource, tt.jsonOnly, nil)
		if err != nil {
			t.Fatal(err)
		}
		if r := d.Resource; r.Source != tt.want || r.Style != tt.style || (d.Schema != nil) != (tt.want == codec.Protobuf) {
			t.Errorf("%s: %+v, schema: %v", tt.name, r, d.Schema != nil)
		}
		if r := d.Resource; r.Kind != tt.resource.Kind || r.ListKind != tt.resource.Kind+"List" || !r.Namespaced {
			t.Errorf("%s: %+v", tt.name, r)
		}
	}
}

// Managed fields are raw JSON, of which the apiserver checks little.
func TestFirstObjectCannotMakeItsResourceUncacheable(t *testing.T) {
	for name, fields := range map[string]string{
		"not UTF-8": `{"f:data":{"f:` + "\xff" + `":{}}}`,
		"deep":      strings.Repeat(`{"f:a":`, json.MaxDepth) + "{}" + strings.Repeat("}", json.MaxDepth),
	} {
		first := `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1","remainingItemCount":9},"items":[
			{"metadata":{"name":"a","managedFields":[{"fieldsType":"FieldsV1","fieldsV1":` + fields + `}]}}]}`
		d, err := describe(t, fake.ConfigMaps, false, respondJSON("first list", first))
		if err != nil || d.Resource.ListKind != "ConfigMapList" || d.ListBytes != int64(10*len(first)) {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
	}
}

func TestWarningsAreTheApiserversAboutTheResource(t *testing.T) {
	warn := func(respond http.HandlerFunc, warnings ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header()["Warning"] = warnings
			respond(w, r)
		}
	}
	const credentials = `299 - "use another token"`
	want := []string{`299 - "old"`, `299 - "older"`}
	d, err := describe(t, fake.ConfigMaps, false, []fake.Step{
		respond("discovery", warn(fake.ConfigMaps.Discovery(), credentials)),
		respond("first list", warn(fake.Body(codec.MediaJSON, fake.ConfigMaps.FirstList()), want[0], credentials, want[1])),
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, d.Warnings); diff != "" {
		t.Error(diff)
	}
}

func TestCompressionIsFoundFromAStreamingList(t *testing.T) {
	inCoding := func(coding string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", coding)
			fake.ConfigMaps.Stream()(w, r)
		}
	}
	for name, row := range map[string]struct {
		respond http.HandlerFunc
		want    bool
	}{
		"gzip":              {inCoding("gzip"), true},
		"plain":             {fake.ConfigMaps.Stream(), false},
		"unknown":           {inCoding("br"), false},
		"no streaming list": {fake.Refuse(http.StatusUnprocessableEntity, "Content-Encoding", "gzip"), false},
	} {
		d, err := describe(t, fake.ConfigMaps, false, []fake.Step{respond("compressed watchlist", row.respond)})
		if err != nil {
			t.Fatal(name, err)
		}
		if d.CompressesStreamingLists != row.want {
			t.Errorf("%s: %v", name, d.CompressesStreamingLists)
		}
	}
}

// Kubernetes 1.38 says which shard a list is of.
func TestShardsAreFoundFromAListWithoutObjects(t *testing.T) {
	const shard = `"metadata":{"resourceVersion":"1","shardInfo":{"selector":"all"}},"items":[]}`
	for name, row := range map[string]struct {
		respond http.HandlerFunc
		shards  bool
	}{
		"none":            {fake.Body(codec.MediaJSON, fake.ConfigMaps.FirstList()), false},
		"shards":          {fake.Body(codec.MediaJSON, []byte(`{"kind":"ConfigMapList","apiVersion":"v1",`+shard)), true},
		"a refusal":       {fake.Refuse(http.StatusTooManyRequests), false},
		"a malformed one": {fake.Body(codec.MediaJSON, []byte(`{"kind":"ConfigMapList",`+shard[:30])), false},
	} {
		asked := func(w http.ResponseWriter, r *http.Request) {
			q := r.URL.Query()
			if q.Get("shardSelector") == "" || q.Get("fieldSelector") != "metadata.name=-" || q.Get("resourceVersion") != "0" {
				t.Errorf("%s: asked by %s", name, r.URL.RawQuery)
			}
			row.respond(w, r)
		}
		d, err := describe(t, fake.ConfigMaps, false, []fake.Step{respond("features", asked)})
		if err != nil {
			t.Fatal(name, err)
		}
		if d.SelectsShards != row.shards {
			t.Errorf("%s: shards %v", name, d.SelectsShards)
		}
	}
	shards, err := sharding.Parse(everyShard)
	if err != nil || len(shards.Requirements()) != 1 {
		t.Errorf("%s: %v", everyShard, err)
	}
}

func TestFormsFollowTheRelease(t *testing.T) {
	for version, want := range map[string]int{"v1.37.2": 37, "v1.38.0-beta.0": 38, "v1.39.1-vendor.7": 39, "unknown": 0} {
		d, err := describe(t, fake.Widgets, false, []fake.Step{respond("version", fake.Release(version))})
		if err != nil || d.Minor != want || d.Resource.ShardInfo != (want >= 38) {
			t.Errorf("%s: %d, shardInfo in every list: %v, %v", version, d.Minor, d.Resource.ShardInfo, err)
		}
	}
}

func TestCRDThatCannotBeReadLeavesNoFieldsAndColumns(t *testing.T) {
	for _, code := range []int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusForbidden, http.StatusUnauthorized} {
		d, err := describe(t, fake.Widgets, false, []fake.Step{respond("crd", fake.Refuse(code))})
		if err != nil {
			t.Fatal(code, err)
		}
		if _, ok := d.Fields.Position(FieldName); ok || d.Resource.Columns != nil || d.Followed() {
			t.Errorf("%d: fields: %v, columns: %v", code, ok, d.Resource.Columns)
		}
	}
}

func TestFieldsOfCustomResources(t *testing.T) {
	const crd = `{"spec":{"versions":[{"name":"v1","selectableFields":[{"jsonPath":%q}]}],` + fake.WidgetNames + `}`
	for path, want := range map[string][]string{
		".spec.color":     {FieldName, FieldNamespace, "spec.color"},
		".spec.nodeName":  {FieldName, FieldNamespace, IndexedField},
		".spec.colors[*]": nil, // a path that cannot be parsed leaves no fields
	} {
		d, err := describe(t, fake.Widgets, false, respondJSON("crd", fmt.Sprintf(crd, path)))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, d.Fields.labels); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
		if d.Fields.Index() != nil {
			t.Errorf("%s: there is an index, whose keys may be as long as objects", path)
		}
	}
	d, err := describe(t, fake.Widgets, false, respondJSON("crd", fmt.Sprintf(crd, ".spec.color")))
	if err != nil {
		t.Fatal(err)
	}
	values, err := d.Fields.Of([]byte(`{"metadata":{"name":"n","namespace":"ns"},"spec":{"color":"red"}}`))
	if diff := cmp.Diff([]string{"", "", "red"}, values); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestPodsAreIndexedByNode(t *testing.T) {
	schema, _ := proto.Lookup("v1", "Pod")
	f := BuiltinFields("v1", "Pod", schema)
	position, ok := f.Position("spec.nodeName")
	if !ok || f.Index() == nil || *f.Index() != position || !f.Indexed(position) || f.Indexed(position+1) {
		t.Errorf("position %d, %v, index %v", position, ok, f.Index())
	}
	if none := (Fields{}); none.Index() != nil || none.Indexed(0) {
		t.Error("no fields have an index")
	}
}

// The apiserver may have served by another CRD although none was read before.
func TestFirstStoreIsFilledAgainIfItsCRDIsRecent(t *testing.T) {
	for name, tt := range map[string]struct {
		changed time.Duration // before it is read
		again   bool
	}{"just now": {0, true}, "lately": {lag, true}, "long ago": {time.Hour, false}} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			crd := fake.Body(codec.MediaJSON, fmt.Appendf(nil, `{"metadata":{"uid":"u","generation":2,"managedFields":[{"time":%q}]},
				"spec":{"versions":[{"name":"v1"}],`+fake.WidgetNames+`}`, start.UTC().Format(time.RFC3339)))
			u, end := fake.New(t, fake.Widgets, []fake.Step{respond("crd", crd), respond("crd", crd)}).Upstream()
			defer end()
			time.Sleep(tt.changed)
			first, err := New(u, fake.Widgets.GVR).Describe(t.Context(), nil, false)
			if err != nil {
				t.Fatal(err)
			}
			if want := start.Add(tt.changed + lag); tt.again != first.FillAgain.Equal(want) || tt.again == first.FillAgain.IsZero() {
				t.Errorf("%s: filled again at %v", name, first.FillAgain)
			}
			time.Sleep(lag)
			next, err := New(u, fake.Widgets.GVR).Describe(t.Context(), first, false)
			if err != nil || !next.FillAgain.Equal(first.FillAgain) {
				t.Errorf("%s: filled once more, at %v: %v", name, next.FillAgain, err)
			}
		})
	}
}
