package codec

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/url"
	"os"
	"strings"
	"testing"
)

// exchange is one recorded request to a real apiserver 1.36.3 and its answer; servers whose name begins with B had the
// CBOR gate on.
type exchange struct {
	Note, Server, Path string
	ReqHeaders         [][2]string
	Status             int
	RespHeaders        [][2]string
	Body               string
	BodyB64            []byte
}

func (x *exchange) header(pairs [][2]string, name string) string {
	for _, h := range pairs {
		if h[0] == name {
			return h[1]
		}
	}
	return ""
}

func (x *exchange) body() []byte {
	if x.BodyB64 != nil {
		return x.BodyB64
	}
	return []byte(x.Body)
}

func (x *exchange) url(t testing.TB) *url.URL {
	u, err := url.Parse(x.Path)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// client and target are what the request says.
func (x *exchange) client(t testing.TB) Client {
	q := x.url(t).Query()
	return Client{
		Accept:        x.header(x.ReqHeaders, "Accept"),
		UserAgent:     x.header(x.ReqHeaders, "User-Agent"),
		Pretty:        q.Get("pretty"),
		IncludeObject: q.Get("includeObject"),
	}
}

func (x *exchange) target(t testing.TB) Target {
	u := x.url(t)
	out := Target{CBOR: strings.HasPrefix(x.Server, "B"), Strict: true, Group: "", Kind: "ConfigMap"}
	if strings.HasPrefix(u.Path, "/apis/ex.io") {
		out.Style, out.Group, out.Kind = Unstructured, "ex.io", "Foo"
	}
	switch {
	case strings.Count(u.Path, "/")-strings.Count("/api/v1/namespaces/ns1/configmaps", "/")-int(out.Style) == 1:
		out.Verb = Get
	case u.Query().Has("watch"):
		out.Verb = Watch
	default:
		out.Verb = List
	}
	return out
}

func readExchanges(t testing.TB, file string) []*exchange {
	f, err := os.Open("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []*exchange
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<22)
	for s.Scan() {
		x := new(exchange)
		if err := json.Unmarshal(s.Bytes(), x); err != nil {
			t.Fatal(err)
		}
		out = append(out, x)
	}
	if s.Err() != nil || len(out) == 0 {
		t.Fatal("no exchanges in", file, s.Err())
	}
	return out
}

// shapeOf tells the shape of a recorded JSON, YAML, Protobuf or CBOR answer by the kind in it.
func shapeOf(b []byte) Shape {
	switch {
	case bytes.Contains(b, []byte("PartialObjectMetadata")):
		return Metadata
	case bytes.Contains(b, []byte("columnDefinitions")):
		return Table
	}
	return Object
}
