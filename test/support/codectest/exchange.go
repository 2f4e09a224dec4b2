package codectest

import (
	"bufio"
	"embed"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
)

//go:embed testdata
var testdata embed.FS

// Exchange is one recorded request to a kube-apiserver 1.37.2 and its response.
type Exchange struct {
	Note        string
	Server      string // servers whose name begins with B had the gate CBORServingAndStorage on
	Path        string // with the query
	ReqHeaders  [][2]string
	Status      int
	RespHeaders [][2]string
	Body        string
	BodyB64     []byte // the body, if it is not text
}

// Read returns the exchanges of a file: reads.jsonl, status.jsonl or bookmarks.jsonl.
func Read(t testing.TB, file string) []*Exchange {
	t.Helper()
	f, err := testdata.Open("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []*Exchange
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<22)
	for lines.Scan() {
		x := new(Exchange)
		if err := json.Unmarshal(lines.Bytes(), x); err != nil {
			t.Fatal(err)
		}
		out = append(out, x)
	}
	if lines.Err() != nil || len(out) == 0 {
		t.Fatal("no exchanges in", file, lines.Err())
	}
	return out
}

// Request returns a header of the request, empty if it has none of that name.
func (x *Exchange) Request(name string) string { return header(x.ReqHeaders, name) }

// Response returns a header of the response, empty if it has none of that name.
func (x *Exchange) Response(name string) string { return header(x.RespHeaders, name) }

func header(pairs [][2]string, name string) string {
	for _, pair := range pairs {
		if pair[0] == name {
			return pair[1]
		}
	}
	return ""
}

// Bytes returns the body of the response.
func (x *Exchange) Bytes() []byte {
	if x.BodyB64 != nil {
		return x.BodyB64
	}
	return []byte(x.Body)
}

// Query returns the query parameters of the request.
func (x *Exchange) Query() url.Values { return x.url().Query() }

func (x *Exchange) url() *url.URL {
	u, err := url.Parse(x.Path)
	if err != nil {
		panic(err) // the recordings have no such path
	}
	return u
}

// CBOR reports whether the server offered CBOR.
func (x *Exchange) CBOR() bool { return strings.HasPrefix(x.Server, "B") }

// Custom reports whether the request is for the custom resource foos.ex.io, not for configmaps.
func (x *Exchange) Custom() bool { return strings.HasPrefix(x.Path, "/apis/ex.io") }

// Verb returns get, list or watch.
func (x *Exchange) Verb() string {
	collection := "/api/v1/namespaces/ns1/configmaps"
	if x.Custom() {
		collection = "/apis/ex.io/v1/namespaces/ns1/foos"
	}
	switch u := x.url(); {
	case strings.Count(u.Path, "/") > strings.Count(collection, "/"):
		return "get"
	case u.Query().Has("watch"):
		return "watch"
	default:
		return "list"
	}
}
