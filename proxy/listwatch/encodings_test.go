package listwatch

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/codec"
	"sluice/codec/cbor"
	"sluice/test/support/fake"
)

// withUnknownField returns an object as a newer apiserver may send it.
func withUnknownField(object string) []byte {
	raw, err := (&corev1.ConfigMap{ObjectMeta: fake.ObjectMeta(object)}).Marshal()
	if err != nil {
		panic(err)
	}
	raw = protowire.AppendTag(raw, 1999, protowire.BytesType)
	return protowire.AppendString(raw, "what this release does not know")
}

// withCBORInside returns an object as an apiserver with CBOR may send it.
func withCBORInside(object string) []byte {
	m := &corev1.ConfigMap{ObjectMeta: fake.ObjectMeta(object)}
	m.ManagedFields = []metav1.ManagedFieldsEntry{{FieldsV1: metav1.NewFieldsV1("\xa1\x42fa\xa0")}}
	raw, err := m.Marshal()
	if err != nil {
		panic(err)
	}
	return raw
}

func enveloped(kind string, raw []byte) []byte {
	typeMeta := append([]byte("\x0a\x02v1\x12"), byte(len(kind)))
	envelope := protowire.AppendTag([]byte("k8s\x00"), 1, protowire.BytesType)
	envelope = protowire.AppendBytes(envelope, append(typeMeta, kind...))
	envelope = protowire.AppendTag(envelope, 2, protowire.BytesType)
	return append(protowire.AppendBytes(envelope, raw), "\x1a\x00\x22\x00"...)
}

// pageWithUnknownField returns a page with one object.
func pageWithUnknownField(rv, object string) []byte {
	list := protowire.AppendTag(nil, 1, protowire.BytesType)
	list = protowire.AppendBytes(list, append([]byte{0x0a, 0x00, 0x12, byte(len(rv))}, rv+"\x1a\x00"...))
	list = protowire.AppendTag(list, 2, protowire.BytesType)
	return enveloped("ConfigMapList", protowire.AppendBytes(list, withUnknownField(object)))
}

func TestMissingOrUnprintableProtobufMakesTheStoreJSON(t *testing.T) {
	p, j := fake.ConfigMaps, fake.ConfigMaps.InJSON()
	unknown := p.Frame("ADDED", enveloped("ConfigMap", withUnknownField("a/new@12")))
	scripts := map[string][]step{
		"in an event": {
			{"watchlist", p.Ended(p.Added("a/x@3"), p.InitialEventsEnd("10"), unknown)},
			{"watchlist", j.Cut(j.Added("a/x@3"), j.Added("a/new@12"), j.InitialEventsEnd("20"))},
			{"watch 20", fake.Refuse(http.StatusGone)},
			{"watchlist", j.Stream(j.Added("a/x@3"), j.Added("a/new@12"), j.InitialEventsEnd("30"))},
		},
		"CBOR inside": {
			{"watchlist", p.Ended(p.Frame("ADDED", enveloped("ConfigMap", withCBORInside("a/new@12"))))},
			{"watchlist", j.Stream(j.Added("a/x@3"), j.Added("a/new@12"), j.InitialEventsEnd("30"))},
		},
		"in an initial event": {
			{"watchlist", p.Ended(unknown)},
			{"watchlist", j.Stream(j.Added("a/x@3"), j.Added("a/new@12"), j.InitialEventsEnd("30"))},
		},
		"in a page": {
			{"watchlist", fake.Refuse(http.StatusUnprocessableEntity)},
			{"page", fake.Body(codec.MediaProtobuf, pageWithUnknownField("10", "a/new@12"))},
			{"page", j.PageBody("30", "", "a/new@12", "a/x@3")},
			{"watch 30", j.Stream()},
		},
		"no Protobuf": {
			{"watchlist", j.Ended(j.Added("a/x@3"), j.InitialEventsEnd("10"))},
			{"watchlist", j.Stream(j.Added("a/x@3"), j.Added("a/new@12"), j.InitialEventsEnd("30"))},
		},
		"no Protobuf in a page": {
			{"watchlist", fake.Refuse(http.StatusUnprocessableEntity)},
			{"page", j.PageBody("10", "", "a/x@3")},
			{"page", j.PageBody("30", "", "a/new@12", "a/x@3")},
			{"watch 30", j.Stream()},
		},
	}
	for name, steps := range scripts {
		t.Run(name, func(t *testing.T) {
			run(t, fake.ConfigMaps, steps, func(t *testing.T, e *env) {
				e.checkAfter(t, time.Minute, 30, "a/new", "a/x")
				if r := e.client.Session().Description().Resource; r.Source != codec.JSON || r.Style != codec.Typed || r.Kind != "ConfigMap" {
					t.Errorf("resource is %+v", r)
				}
				if data := e.store.Snapshot().Get("a/new").Data; !bytes.HasPrefix(data, []byte(`{"kind":"ConfigMap","apiVersion":"v1",`)) &&
					!bytes.HasPrefix(data, []byte(`{"apiVersion":"v1","kind":"ConfigMap",`)) {
					t.Errorf("object is %s", data)
				}
				for _, c := range e.Calls()[1:] {
					if !strings.HasSuffix(name, "in a page") && c.Accept != codec.MediaJSON {
						t.Errorf("%s accepts %s", c.Name, c.Accept)
					}
				}
			})
		})
	}
}

// TestOneResponseDoesNotMakeAStoreJSON: a load balancer may have sent it.
func TestOneResponseDoesNotMakeAStoreJSON(t *testing.T) {
	d := fake.ConfigMaps
	run(t, d, []step{
		{"watchlist", d.Cut(d.Added("a/x@3"), d.InitialEventsEnd("10"))},
		{"watch 10", fake.Body(codec.MediaJSON, []byte("{}"))},
		{"watchlist", d.Stream(d.Added("a/x@3"), d.InitialEventsEnd("10"))},
	}, func(t *testing.T, e *env) {
		pass(time.Minute)
		e.CheckPlayed(t)
		if r := e.client.Session().Description().Resource; r.Source != codec.Protobuf {
			t.Errorf("store holds %s", r.Source)
		}
	})
}

// JSON does not tell 8.0 from 8.
func TestCBORKeepsFloatsApartFromIntegers(t *testing.T) {
	d := fake.Widgets.InCBOR()
	object := func(rv string) []byte {
		return []byte(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"x","namespace":"a","resourceVersion":"` + rv + `"},"spec":{"f":8.0,"i":8,"s":1e-7}}`)
	}
	page := bytes.Replace(fake.Widgets.Page("10", ""), []byte(`"items":[]`), append([]byte(`"items":[`), append(object("3"), ']')...), 1)
	inCBOR, err := codec.AppendFromJSON(nil, page, codec.CBOR)
	if err != nil {
		t.Fatal(err)
	}
	for name, steps := range map[string][]step{
		"streaming list": {{"watchlist", d.Stream(d.Frame("ADDED", object("3")), d.InitialEventsEnd("10"))}},
		"event":          {{"watchlist", d.Stream(d.InitialEventsEnd("2"), d.Frame("ADDED", object("3")), d.Bookmark("10"))}},
		"page": {
			{"watchlist", fake.Refuse(http.StatusUnprocessableEntity)},
			{"page", fake.Body(codec.MediaCBOR, inCBOR)},
			{"watch 10", d.Stream()},
		},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, d, steps, func(t *testing.T, e *env) {
				pass(time.Second)
				e.check(t, 10, "a/x")
				if r := e.client.Session().Description().Resource; r.Source != codec.JSON || !r.WholeFloats {
					t.Errorf("resource is %+v", r)
				}
				if got := e.store.Snapshot().Get("a/x").Data; !bytes.Equal(got, object("3")) {
					t.Errorf("object is %s", got)
				}
			})
		})
	}
}

// One replica of the apiserver may lack CBOR, and some CBOR cannot be expressed in JSON.
func TestCustomResourcesAreReadAsJSONIfCBORFails(t *testing.T) {
	c, j := fake.Widgets.InCBOR(), fake.Widgets
	noUTF8 := bytes.ReplaceAll(c.Added("a/x@3"), []byte("apiVersion"), []byte("apiVersio\xff"))
	for name, first := range map[string]step{
		"no CBOR":            {"watchlist", j.Stream(j.Added("a/x@3"), j.InitialEventsEnd("10"))},
		"name without UTF-8": {"watchlist", c.Stream(noUTF8, c.InitialEventsEnd("10"))},
	} {
		t.Run(name, func(t *testing.T) {
			steps := []step{first, {"watchlist", j.Stream(j.Added("a/x@3"), j.InitialEventsEnd("10"))}}
			run(t, c, steps, func(t *testing.T, e *env) {
				e.checkAfter(t, time.Minute, 10, "a/x")
				if r := e.client.Session().Description().Resource; r.WholeFloats {
					t.Errorf("resource is %+v", r)
				}
			})
		})
	}
}

// The template is what the apiserver sent, so that Sluice prints the empty fields as it does.
func TestFirstBookmarkIsTheTemplateOfJSONStores(t *testing.T) {
	for name, r := range map[string]fake.Resource{"typed": fake.ConfigMaps.InJSON(), "custom": fake.Widgets} {
		t.Run(name, func(t *testing.T) {
			steps := []step{{"watchlist", r.Stream(r.InitialEventsEnd("10"), r.Bookmark("11"))}}
			if name == "typed" {
				steps = append(steps, steps...) // the first tells that there is no Protobuf
			}
			run(t, r, steps, func(t *testing.T, e *env) {
				pass(time.Minute)
				e.check(t, 11)
				if b := e.client.Session().Description().Resource.Bookmark; !bytes.Contains(b, []byte(`"resourceVersion":"10"`)) {
					t.Errorf("template is %s", b)
				}
			})
		})
	}
}

// A CachedResource takes new columns only if its description is still the description of the session.
func TestBookmarkOfAWatchChangesNoDescription(t *testing.T) {
	d := fake.Widgets
	steps := []step{
		{"watchlist", fake.Refuse(http.StatusUnprocessableEntity)}, {"page", d.PageBody("10", "")}, {"watch 10", d.Stream(d.Bookmark("11"))},
	}
	run(t, d, steps, func(t *testing.T, e *env) {
		e.checkAfter(t, time.Minute, 11)
		if b := e.client.Session().Description().Resource.Bookmark; b != nil {
			t.Errorf("template is %s", b)
		}
	})
}

// Managed fields are sent as they were written.
func TestListsInJSONNeedNotBeUTF8(t *testing.T) {
	const page = `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"10"},"items":[{"metadata":{` +
		`"name":"x","namespace":"a","resourceVersion":"3","managedFields":[{"fieldsV1":{"f:` + "\xff" + `":{}}}]}}]}`
	j := fake.ConfigMaps.InJSON()
	steps := []step{
		{"watchlist", fake.Refuse(http.StatusUnprocessableEntity)},
		{"page", fake.Body(codec.MediaJSON, []byte(page))}, // not in Protobuf
		{"page", fake.Body(codec.MediaJSON, []byte(page))},
		{"watch 10", j.Stream()},
	}
	run(t, fake.ConfigMaps, steps, func(t *testing.T, e *env) {
		e.checkAfter(t, time.Minute, 10, "a/x")
	})
}

// The watches of a thousand resources would else each keep the longest event that they have had.
func TestLongEventLeavesNoLargeBuffer(t *testing.T) {
	pods := fake.ConfigMaps
	text := strings.Repeat("a", 1<<20)
	object := func(name, text string) string {
		return fmt.Sprintf(`{"metadata":{"name":%q,"resourceVersion":"1"},"text":%q}`, name, text)
	}
	var inJSON, inCBOR, inProtobuf []byte
	names := []string{"a", "b", "c", "d", "e", "f"}
	for i, name := range names {
		// What has been read of those after the longest are events whose buffers are not kept either.
		long := text[:[]int{0, len(text), len(text) / 8, len(text) / 4, len(text) / 8, 0}[i]]
		event := fmt.Sprintf("{\"type\":\"ADDED\",\"object\":%s}\n", object(name, long))
		inJSON = append(inJSON, event...)
		item, err := cbor.AppendFromJSON(nil, []byte(event))
		if err != nil {
			t.Fatal(err)
		}
		inCBOR = append(inCBOR, item...)
		raw, err := (&corev1.ConfigMap{ObjectMeta: fake.ObjectMeta("x/" + name + "@1"), Data: map[string]string{"a": long}}).Marshal()
		if err != nil {
			t.Fatal(err)
		}
		inProtobuf = append(inProtobuf, pods.Frame("ADDED", enveloped("ConfigMap", raw))...)
	}
	for _, row := range []struct {
		encoding
		text []byte
		kept func(eventReader) int
	}{
		{jsonEncoding{}, inJSON, func(r eventReader) int { return cap(r.(*jsonEvents).in.UnreadBuffer()) }},
		{cborEncoding{}, inCBOR, func(r eventReader) int { return cap(r.(*cborEvents).event) }},
		{protobufEncoding{}, inProtobuf, func(r eventReader) int { return cap(r.(*protobufEvents).frame) }},
	} {
		events := row.events(bytes.NewReader(row.text), readAhead)
		for _, name := range names {
			_, o, err := events.next()
			if err != nil || !bytes.Contains(o[:min(200, len(o))], []byte(name)) {
				t.Fatalf("%T: %v for %s", row.encoding, err, name)
			}
		}
		if n := row.kept(events); n > 2*keptBuffer {
			t.Errorf("%T keeps %d bytes", row.encoding, n)
		}
	}
}
