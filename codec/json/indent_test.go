package json

import (
	"bytes"
	stdjson "encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"sluice/codec/json/jsontest"
)

func TestAppendIndent(t *testing.T) {
	check := func(b []byte) {
		t.Helper()
		for depth, prefix := range []string{"", "  ", "    "} {
			var want bytes.Buffer
			if err := stdjson.Indent(&want, b, prefix, "  "); err != nil {
				t.Fatal(err)
			}
			if got, err := AppendIndentAt([]byte("x"), b, depth); err != nil || string(got) != "x"+want.String() {
				t.Errorf("AppendIndentAt(%s, %d) = %s, %v, want %s", b, depth, got, err, want.Bytes())
			}
		}
	}
	for _, f := range jsontest.Corpus(t) {
		check(f.JSON)
	}
	for _, s := range []string{`{}`, `[]`, `[{}]`, `{"a":[]}`, `[[],[[]]]`, " [ ] ", "{ \"a\" : [ 1 , 2 ] }", `"{}"`, `1`, strings.Repeat("[", 99) + "1" + strings.Repeat("]", 99)} {
		check([]byte(strings.TrimSpace(s)))
	}
	r := rand.New(rand.NewPCG(7, 8))
	for range 2000 {
		check(jsontest.Random(r, 5))
	}
	for _, s := range []string{"]", "[", "{", `"a`, "[]]", `{"a":"b`} {
		if got, err := AppendIndent([]byte("x"), []byte(s)); err == nil || string(got) != "x" {
			t.Errorf("AppendIndent(%s) = %s, %v", s, got, err)
		}
	}
}
