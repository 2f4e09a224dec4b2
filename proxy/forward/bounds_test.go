package forward

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"sluice/codec"
	"sluice/proxy/request"
)

// What would take too much memory to decode is refused before it is decoded.
func TestManyPartsAreRefused(t *testing.T) {
	for _, p := range []*payload{
		{encoding: codec.CBOR, held: []byte("\x9a\x00\x04\x00\x00" + strings.Repeat("\xa1\x40\x01", 1<<18))},
		{encoding: codec.YAML, held: []byte("[" + strings.Repeat("{a},", 1<<18) + "]")},
	} {
		var refusal *codec.Status
		l := &lease{room: newRoom(knownRoom, knownRoom)}
		if err := p.convert(&request.Info{}, l); !errors.As(err, &refusal) || refusal.Code != 413 || p.json != nil {
			t.Errorf("error is %v", err)
		}
	}
}

// Nothing of a stranger's is decoded before the upstream has let it in.
func TestStrangersAreAskedForFirst(t *testing.T) {
	up := &jsonOnly{answer: stores}
	b := newBed(t, setting{caller: request.Unauthenticated, handler: up.ServeHTTP})
	for range 2 {
		b.do(t, b.request(t, "POST", things, http.Header{"Content-Type": {"application/cbor"}}, strings.NewReader(encoded(thing, codec.CBOR))))
		if asked := up.seen(); len(asked) != 2 || asked[0].contentType != "application/cbor" {
			t.Errorf("asked %v", asked)
		}
	}
}

// An estimate is never less than what is made.
func TestEstimates(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	texts := []string{"a", " ", "  ", `\n`, `\"`, `\u0001`, "'", "\x7f", "\u00e9", "\ufeff", "\xff", ":", "- ", "#", "word ", "0", `\ud83d\ude00`}
	text := func() string {
		var s strings.Builder
		for range random.IntN(1 << random.IntN(9)) {
			s.WriteString(texts[random.IntN(len(texts))])
		}
		return `"` + s.String() + `"`
	}
	var value func(depth int) string
	value = func(depth int) string {
		kind := random.IntN(8)
		if depth == 0 {
			kind += 2
		}
		switch kind {
		case 0, 1:
			var all []string
			for i := range random.IntN(5) {
				if kind == 0 {
					all = append(all, value(depth-1))
				} else {
					all = append(all, fmt.Sprintf(`"%d%s:%s`, i, text()[1:], value(depth-1)))
				}
			}
			return [2]string{"[", "{"}[kind] + strings.Join(all, ",") + [2]string{"]", "}"}[kind]
		case 2:
			return "1e5"
		case 3:
			return "0.1"
		case 4:
			return "null"
		}
		return text()
	}
	for range 3000 {
		object := `{"apiVersion":"v1","kind":"Thing","metadata":{"name":"a","annotations":{"a":` + text() + `}},"spec":` + value(1+random.IntN(40)) + `}`
		list := `{"apiVersion":"v1","kind":"ThingList","items":[{},{},` + object + `]}`
		for _, f := range []codec.Format{{Encoding: codec.YAML}, {Encoding: codec.CBOR}, {Shape: codec.Table, Pretty: true}, {Shape: codec.Table, Include: codec.IncludeObject},
			{Shape: codec.Table, Encoding: codec.YAML}, {Shape: codec.Metadata, Encoding: codec.YAML}, {Shape: codec.Metadata, Encoding: codec.Protobuf}, {Shape: codec.Metadata, Encoding: codec.CBOR}} {
			for _, src := range []string{object, list} {
				w := &wish{format: f}
				out, err := w.render(nil, []byte(src), f)
				if got := w.estimate([]byte(src), f); err == nil && int64(len(out)) > got {
					t.Fatalf("%+v: estimate is %d, %d bytes were made of %q", f, got, len(out), src)
				}
			}
		}
	}
}

// What would grow beyond all bounds is not made.
func TestGrowingAnswersAreRefused(t *testing.T) {
	for name, answer := range map[string]string{
		"deep":  `{"kind":"Thing","a":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`,
		"wide":  `{"kind":"Thing","a":` + strings.Repeat("[", 100) + strings.Repeat("1,", 1<<19) + "1" + strings.Repeat("]", 100) + `}`,
		"items": `{"kind":"ThingList","apiVersion":"v1","items":[` + strings.Repeat("{},", 1<<17) + `{}]}`,
	} {
		accept := map[bool]string{true: "application/yaml" + asTable, false: "application/yaml"}[name == "items"]
		b := newBed(t, setting{caller: request.BearerToken, handler: (&jsonOnly{answer: says(answer)}).ServeHTTP})
		if resp := b.get(t, things, accepting(accept)); resp.StatusCode != 406 {
			t.Errorf("%s: %s", name, resp.Status)
		}
	}
}

// Without room a body goes as it came; nothing of a GET is held.
func TestBodiesWithoutRoomPass(t *testing.T) {
	up := &jsonOnly{answer: stores}
	b := newBed(t, setting{caller: request.BearerToken, handler: up.ServeHTTP})
	b.forwarder.known = newRoom(0, 0)
	body := encoded(thing, codec.CBOR)
	resp := b.do(t, b.request(t, "POST", things, http.Header{"Content-Type": {"application/cbor"}}, strings.NewReader(body)))
	if asked := up.seen(); resp.StatusCode != 415 || len(asked) != 1 || asked[0].body != body {
		t.Errorf("%s: asked %v", resp.Status, asked)
	}
	r, _ := http.NewRequest("GET", "http://x", strings.NewReader("body"))
	if p, err := payloadOf(r, &lease{room: newRoom(0, 0)}, nil); err != nil || p.held != nil || p.whole() {
		t.Errorf("held %+v, %v", p, err)
	}
}

type late struct{}

func (late) Read([]byte) (int, error) { return 0, os.ErrDeadlineExceeded }

// Who is too slow is told so.
func TestSlowBodies(t *testing.T) {
	r, _ := http.NewRequest("POST", "http://x", io.MultiReader(strings.NewReader("a"), late{}))
	bound := time.Duration(0)
	if _, err := payloadOf(r, &lease{room: newRoom(knownRoom, knownRoom)}, func(d time.Duration) { bound = d }); !errors.Is(err, errSlow) || bound != uploadTime {
		t.Errorf("error is %v, bound %v", err, bound)
	}
}

// One user cannot take it all.
func TestShares(t *testing.T) {
	r := newRoom(100, 40)
	a, b := &lease{room: r, user: "a"}, &lease{room: r, user: "b"}
	if a.hold(41) == nil || a.hold(40) != nil || b.hold(40) != nil || (&lease{room: r, user: "a"}).hold(1) == nil {
		t.Errorf("shares are %v", r.taken)
	}
	a.end()
	b.end()
	if r.left != 100 || len(r.taken) != 0 {
		t.Errorf("left are %d, taken %v", r.left, r.taken)
	}
}

// A Content-Type without a body is nothing to convert.
func TestEmptyBodiesAreNone(t *testing.T) {
	for _, method := range []string{"GET", "DELETE"} {
		b := newBed(t, setting{caller: request.BearerToken, handler: (&jsonOnly{answer: says(thing)}).ServeHTTP})
		for range 2 {
			h := http.Header{"Content-Type": {"application/cbor"}, "Accept": {"application/cbor"}}
			if resp := b.do(t, b.request(t, method, things+"/a", h, nil)); resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "application/cbor" {
				t.Errorf("%s: %s", method, resp.Status)
			}
		}
	}
}

// An error that cannot be converted, and what has no body, pass.
func TestErrorsPass(t *testing.T) {
	for _, tt := range []struct {
		code int
		body string
	}{{429, ""}, {503, "nonsense"}, {500, strings.Repeat("[", 300)}, {500, strings.Repeat("x", maxError+1)}, {304, ""}, {204, ""}} {
		up := &jsonOnly{answer: func(w http.ResponseWriter, _ *http.Request, _ []byte) {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(tt.code)
			_, _ = io.WriteString(w, tt.body)
		}}
		b := newBed(t, setting{caller: request.BearerToken, handler: up.ServeHTTP})
		resp := b.get(t, things, accepting("application/cbor"))
		if body := text(t, resp.Body); resp.StatusCode != tt.code || resp.Header.Get("Retry-After") != "7" || body != tt.body {
			t.Errorf("%d: %s %.100q", tt.code, resp.Status, body)
		}
		receive(t, b.info, "the end")
		if left := free(b.forwarder.known); left != knownRoom {
			t.Errorf("%d are left", left)
		}
	}
}

// What an admission webhook denies is not sent again.
func TestDenialsAreNotRepeated(t *testing.T) {
	for _, code := range []int{406, 415} {
		b := newBed(t, setting{caller: request.BearerToken, handler: func(w http.ResponseWriter, _ *http.Request) {
			refuse(w, &codec.Status{Message: `admission webhook "w" denied the request: 415: Unsupported Media Type`, Code: code})
		}})
		h := http.Header{"Content-Type": {"application/cbor"}, "Accept": {"application/cbor"}}
		if resp := b.do(t, b.request(t, "POST", things, h, strings.NewReader(encoded(thing, codec.CBOR)))); resp.StatusCode != code {
			t.Errorf("got %s", resp.Status)
		}
		b.next(t)
		b.nothing(t)
	}
}

// A watch that waits keeps nothing large.
func TestIdleWatchKeepsNothing(t *testing.T) {
	in, out := io.Pipe()
	space := newRoom(knownRoom, knownRoom)
	info := &request.Info{}
	info.RequestInfo = requestInfo()
	e, err := newEvents(in, &wish{format: codec.Format{Encoding: codec.CBOR}, watch: true}, info, &lease{room: space})
	if err != nil {
		t.Fatal(err)
	}
	large := event("ADDED", `{"kind":"Thing","a":"`+strings.Repeat("x", 1<<20)+`"}`)
	go func() { _, _ = io.WriteString(out, large) }()
	if err := e.more(); err != nil || free(space) == knownRoom {
		t.Fatalf("%v; %d are left", err, free(space))
	}
	out.Close()
	if err := e.more(); !errors.Is(err, io.EOF) || e.buf != nil || e.out != nil || free(space) != knownRoom {
		t.Errorf("%v: keeps %d bytes, %d are left", err, cap(e.buf), free(space))
	}
}

// Room is given back whatever the upstream answers.
func TestRoomIsGivenBackAfterOddAnswers(t *testing.T) {
	for _, line := range []string{"101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x", "099 Odd", "200 OK\r\nContent-Length: 9"} {
		b := newBed(t, setting{caller: request.BearerToken, http1Behind: true, handler: func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 "+line+"\r\n\r\n")
			conn.Close()
		}})
		h := http.Header{"Content-Type": {"application/cbor"}, "Accept": {"application/cbor"}}
		resp, err := b.client.Do(b.request(t, "POST", things, h, strings.NewReader(encoded(thing, codec.CBOR))))
		if err == nil {
			resp.Body.Close()
		}
		receive(t, b.info, "the end")
		// The lease ends before the gate tells of the end.
		if left := free(b.forwarder.known); left != knownRoom {
			t.Errorf("%s: %d are left", line, left)
		}
	}
}
