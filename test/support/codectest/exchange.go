package codectest

import (
	"bufio"
	"embed"
	"encoding/json"
	"testing"
)

//go:embed testdata
var testdata embed.FS

// Exchange is one recorded request to a kube-apiserver 1.37.2 and its response.
type Exchange struct {
	Note        string
	Path        string // with the query
	RespHeaders [][2]string
	Body        string
	BodyB64     []byte // the body, if it is not text
}

// Read returns the exchanges of a file: status.jsonl or bookmarks.jsonl.
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

// ContentType returns the Content-Type of the response.
func (x *Exchange) ContentType() string {
	for _, pair := range x.RespHeaders {
		if pair[0] == "Content-Type" {
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
