package forward

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	fxcbor "github.com/fxamacker/cbor/v2"
	"github.com/google/go-cmp/cmp"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"sluice/codec"
	"sluice/codec/json"
	"sluice/proxy/request"
)

// event is a line of a watch stream.
func event(typ, object string) string {
	return `{"type":"` + typ + `","object":` + object + "}\n"
}

const (
	marked  = `{"apiVersion":"lab.example.com/v1","kind":"Thing","metadata":{"annotations":{"k8s.io/initial-events-end":"true"},"resourceVersion":"9"}}`
	expired = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old","reason":"Expired","code":410}`
)

// steps is a watch that sends a text for each step and ends when there are no
// more of them, in the middle if the last is cut.
func steps(next <-chan string) func(http.ResponseWriter, *http.Request, []byte) {
	return func(w http.ResponseWriter, r *http.Request, _ []byte) {
		_ = http.NewResponseController(w).Flush()
		for {
			select {
			case text, ok := <-next:
				switch {
				case !ok:
					return
				case text == "cut":
					abort(w)
				}
				_, _ = io.WriteString(w, text)
				_ = http.NewResponseController(w).Flush()
			case <-r.Context().Done():
				return
			}
		}
	}
}

// Each event comes as soon as it is there, converted, and the stream ends as
// the upstream's ends.
func TestWatchIsMade(t *testing.T) {
	meta := func(object string) string {
		out, err := json.AppendMetadataOnly(nil, []byte(object), "meta.k8s.io/v1")
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	table := func(rv, columns, cells, object string) string {
		return `{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"` + rv + `"},"columnDefinitions":` + columns +
			`,"rows":[{"cells":` + cells + `,"object":` + object + `}]}`
	}
	const nobody = `["","0001-01-01T00:00:00Z"]`
	objects := []struct{ typ, object string }{{"ADDED", thing}, {"MODIFIED", thing2}, {"BOOKMARK", marked}, {"ERROR", expired}}
	for _, tt := range []struct {
		accept, query, contentType string
		want                       []string
	}{
		{"application/cbor", "", "application/cbor-seq", []string{thing, thing2, marked, expired}},
		{"application/cbor" + asMetadata, "", "application/cbor-seq", []string{meta(thing), meta(thing2), meta(marked), expired}},
		{"application/json" + asMetadata, "", "application/json", []string{meta(thing), meta(thing2), meta(marked), expired}},
		{"application/json" + asTable, "", "application/json", []string{
			table("7", "[]", `["a","2026-01-02T03:04:05Z"]`, meta(thing)), table("8", "null", `["b","2026-01-02T03:04:06Z"]`, meta(thing2)),
			table("9", "null", nobody, meta(marked)), expired}},
		{"application/json" + asTable, "&includeObject=None", "application/json", []string{
			table("7", "[]", `["a","2026-01-02T03:04:05Z"]`, "null"), table("8", "null", `["b","2026-01-02T03:04:06Z"]`, "null"),
			table("9", "null", nobody, meta(marked)), expired}},
	} {
		t.Run(tt.accept+tt.query, func(t *testing.T) {
			next := make(chan string)
			up := &jsonOnly{}
			eachSide(t, setting{caller: request.BearerToken, handler: up.ServeHTTP}, func(t *testing.T, b *bed) {
				next = make(chan string)
				up.answer = steps(next)
				resp := b.get(t, things+"?watch=true"+tt.query, accepting(tt.accept)) // there before the first event
				if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != tt.contentType || resp.Header.Get("Content-Length") != "" {
					t.Fatalf("%s with %v", resp.Status, resp.Header)
				}
				read := eventsOf(resp, tt.contentType)
				for i, o := range objects {
					next <- event(o.typ, o.object)
					got, err := read()
					if err != nil {
						t.Fatal(err)
					}
					if i == 0 && strings.Contains(tt.accept, "Table") {
						if !strings.Contains(got, `"columnDefinitions":[{"`) {
							t.Errorf("no columns in %s", got)
						}
						got = strings.Replace(withoutColumns(got), `"kind":"Table"`, `"columnDefinitions":[],"kind":"Table"`, 1)
					}
					if diff := cmp.Diff(sorted(event(o.typ, tt.want[i])), got); diff != "" {
						t.Errorf("event %d (-want +got):\n%s", i, diff)
					}
				}
				close(next)
				if got, err := read(); !errors.Is(err, io.EOF) {
					t.Errorf("at the end: %q, %v", got, err)
				}
				receive(t, b.info, "the end")
			})
		})
	}
}

// eventsOf reads a watch event by event, as sorted JSON.
func eventsOf(resp *http.Response, contentType string) func() (string, error) {
	if contentType == "application/cbor-seq" {
		d := fxcbor.NewDecoder(resp.Body)
		return func() (string, error) {
			var item fxcbor.RawMessage
			if err := d.Decode(&item); err != nil {
				return "", err
			}
			return decoded(string(item), codec.MediaCBOR), nil
		}
	}
	f := newFrames(resp.Body, &lease{room: new(room)})
	return func() (string, error) {
		object, err := f.next()
		if err != nil {
			return "", err
		}
		return sorted(string(object)), nil
	}
}

// An upstream that makes Tables of watches, though it was feared that it would
// not, is passed byte for byte, and any space with it but that between events.
func TestWatchThatIsRightPasses(t *testing.T) {
	stream := event("ADDED", `{"kind":"Table", "apiVersion":"meta.k8s.io/v1","rows":[ 1 ]}`) + event("ERROR", expired)
	b := newBed(t, setting{caller: request.BearerToken, handler: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, stream)
	}})
	resp := b.get(t, things+"?watch=1", accepting("application/json"+asTable))
	if got := text(t, resp.Body); got != stream {
		t.Errorf("got %s", got)
	}
	if info := receive(t, b.info, "the end"); info.Outcome.Transcoded {
		t.Error("counted as transcoded")
	}
}

// A stream that the upstream cuts is cut for the client.
func TestCutWatchIsCut(t *testing.T) {
	for name, last := range map[string][]string{
		"between events": {"cut"}, "inside an event": {event("ADDED", thing)[:50], "cut"},
		"cleanly inside an event": {event("ADDED", thing)[:50]}, "no JSON": {"what\n"}, "no event": {"{\"type\":}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			up := &jsonOnly{}
			eachSide(t, setting{caller: request.BearerToken, handler: up.ServeHTTP}, func(t *testing.T, b *bed) {
				next := make(chan string)
				up.answer = steps(next)
				resp := b.get(t, things+"?watch=1", accepting("application/cbor"))
				read := eventsOf(resp, "application/cbor-seq")
				next <- event("ADDED", thing)
				if _, err := read(); err != nil {
					t.Fatal(err)
				}
				for _, text := range last {
					next <- text
				}
				close(next)
				if got, err := read(); err == nil || errors.Is(err, io.EOF) {
					t.Errorf("after the cut: %q, %v", got, err)
				}
				receive(t, b.info, "the end")
			})
		})
	}
}

// A client that leaves a converted watch ends it at the upstream too.
func TestClientLeavesMadeWatch(t *testing.T) {
	gone := make(chan bool, 1)
	up := &jsonOnly{answer: func(w http.ResponseWriter, r *http.Request, _ []byte) {
		_, _ = io.WriteString(w, event("ADDED", thing))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		gone <- true
	}}
	eachSide(t, setting{caller: request.BearerToken, handler: up.ServeHTTP}, func(t *testing.T, b *bed) {
		req := b.request(t, "GET", things+"?watch=1", accepting("application/cbor"), nil)
		ctx, leave := context.WithCancel(req.Context())
		resp := b.do(t, req.WithContext(ctx))
		if _, err := eventsOf(resp, "application/cbor-seq")(); err != nil {
			t.Fatal(err)
		}
		leave()
		receive(t, gone, "the end at the upstream")
		receive(t, b.info, "the end")
		if left := free(b.forwarder.known); left != knownRoom {
			t.Errorf("%d of %d are left", left, knownRoom)
		}
	})
}

// Events are found however the stream is cut into pieces, and large ones take
// room only while they are there.
func TestFrames(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var stream strings.Builder
	var want []string
	for i := range 200 {
		object := fmt.Sprintf(`{"n":%d,"text":"}{\"\\\\]\\\"","list":[[],{"a":[1]}],"pad":%q}`, i, strings.Repeat("x", random.IntN(1<<random.IntN(19))))
		want = append(want, object)
		stream.WriteString(strings.Repeat(" \n", random.IntN(3)) + object + strings.Repeat("\r\n", random.IntN(2)))
	}
	for name, in := range map[string]io.Reader{
		"as it is":    strings.NewReader(stream.String()),
		"byte-wise":   iotest.OneByteReader(strings.NewReader(stream.String())),
		"half":        iotest.HalfReader(strings.NewReader(stream.String())),
		"err at data": iotest.DataErrReader(strings.NewReader(stream.String())),
	} {
		t.Run(name, func(t *testing.T) {
			space := newRoom(maxEvent, maxEvent)
			f := newFrames(in, &lease{room: space})
			for i, w := range want {
				got, err := f.next()
				if err != nil || string(got) != w {
					t.Fatalf("object %d: %.100q, %v, want %.100q", i, got, err, w)
				}
			}
			if got, err := f.next(); !errors.Is(err, io.EOF) {
				t.Errorf("at the end: %q, %v", got, err)
			}
			if left := free(space); left != maxEvent {
				t.Errorf("%d of %d are left", left, maxEvent)
			}
		})
	}
}

// What never ends is given up at the limit, or when the room is used up.
func TestFramesAreBounded(t *testing.T) {
	endless := io.MultiReader(strings.NewReader(`{"a":"`), zeros{})
	for _, size := range []int64{1 << 20, 1 << 30} {
		space := newRoom(size, size)
		l := &lease{room: space}
		f := newFrames(endless, l)
		var busy *codec.Status
		if _, err := f.next(); size == 1<<20 && !errors.As(err, &busy) || size == 1<<30 && !errors.Is(err, errEvent) {
			t.Errorf("%d: %v", size, err)
		}
		if cap(f.buf) > 4*maxEvent {
			t.Errorf("buffer has %d bytes", cap(f.buf))
		}
		l.end()
		if left := free(space); left != size {
			t.Errorf("%d of %d are left", left, size)
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

// FuzzEvents feeds streams of any form through every shape: whatever comes, it
// ends, and what was converted is well-formed.
func FuzzEvents(f *testing.F) {
	for _, s := range []string{
		event("ADDED", thing) + event("BOOKMARK", marked) + event("ERROR", expired), `{"type":"ADDED","object":{`, `{"type":7,"object":[]}`,
		`{"object":{"metadata":[]}}`, `{"type":"ERROR","object":null}`, "[[[[", "}", `{"type":"ADDED","object":{"kind":"Table"}}`, "{\"\xff\":\"\\ud800\"}",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, stream string) {
		for _, format := range []codec.Format{
			{Encoding: codec.CBOR}, {Encoding: codec.CBOR, Shape: codec.Metadata}, {Shape: codec.Table}, {Encoding: codec.Protobuf, Shape: codec.Metadata},
		} {
			space := newRoom(knownRoom, knownRoom)
			info := &request.Info{RequestInfo: &apirequest.RequestInfo{APIGroup: "lab.example.com", APIVersion: "v1"}}
			e, err := newEvents(io.NopCloser(strings.NewReader(stream)), &wish{format: format, watch: true}, info, &lease{room: space})
			if err != nil {
				t.Fatal(err)
			}
			out, _ := io.ReadAll(e)
			if format.Encoding != codec.CBOR {
				continue
			}
			for rest := out; len(rest) > 0; {
				if rest, err = fxcbor.UnmarshalFirst(rest, &fxcbor.RawMessage{}); err != nil {
					t.Fatalf("%q became %x: %v", stream, out, err)
				}
			}
		}
	})
}

// FuzzBodies feeds bodies of any form into the conversion to JSON: what comes
// out is JSON, or a Status.
func FuzzBodies(f *testing.F) {
	for _, s := range []string{encoded(thing, codec.CBOR), encoded(thing, codec.YAML), "\xbf\xff", "\x9f", "\xfb\x7f\xf0\x00\x00\x00\x00\x00\x00", "\xd6\x41x", "a: &a [*a]", "a: 1\na: 2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		for _, encoding := range []codec.Encoding{codec.CBOR, codec.YAML} {
			space := newRoom(knownRoom, knownRoom)
			l := &lease{room: space}
			p := &payload{held: []byte(body), encoding: encoding, jsonType: codec.MediaJSON}
			var refusal *codec.Status
			switch err := p.convert(&request.Info{}, l); {
			case err == nil:
				if err := json.Valid(p.json, json.Limits{}); err != nil {
					t.Errorf("%q became %q: %v", body, p.json, err)
				}
			case !errors.As(err, &refusal) || refusal.Code != 400 && refusal.Code != 413:
				t.Errorf("%q: %v", body, err)
			}
			if l.end(); free(space) != knownRoom {
				t.Errorf("%d are left", free(space))
			}
		}
	})
}
