package json

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"sluice/test/support/jsontest"
)

func TestAppendIndentPrintsLikeEncodingJSON(t *testing.T) {
	check := func(b []byte) {
		t.Helper()
		for depth, prefix := range []string{"", "  ", "    "} {
			var want bytes.Buffer
			if err := stdjson.Indent(&want, b, prefix, "  "); err != nil {
				t.Fatal(err)
			}
			if got, err := AppendIndent([]byte("x"), b, depth); err != nil || string(got) != "x"+want.String() {
				t.Errorf("AppendIndent(%s, %d) = %s, %v, want %s", b, depth, got, err, want.Bytes())
			}
			var compact bytes.Buffer
			if err := stdjson.Compact(&compact, b); err != nil {
				t.Fatal(err)
			}
			if n := indentedSize(compact.Bytes(), depth); n != want.Len() {
				t.Errorf("%s at level %d has %d bytes, not %d", b, depth, want.Len(), n)
			}
		}
	}
	for _, f := range jsontest.Corpus(t) {
		check(f.JSON)
	}
	for _, s := range []string{
		`{}`, `[]`, `[{}]`, `{"a":[]}`, `[[],[[]]]`, "[ ]", `{ "a" : [ 1 , 2 ] }`, `"{}"`, `1`, `1.0`, `-0`, `"\u003c<\/é\u00e9"`, "\"\xff\"", `{"a":1,"a":2}`,
		strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100), // 20 KB of 600 bytes
	} {
		check([]byte(s))
	}
	r := rand.New(rand.NewPCG(7, 8))
	for range 2000 {
		check(jsontest.Random(r, 5))
	}
}

func TestAppendIndentRefusesValuesThatExpand(t *testing.T) {
	nest := func(n int, inner string) string { return strings.Repeat("[", n) + inner + strings.Repeat("]", n) }
	for _, s := range []string{nest(MaxDepth, ""), nest(MaxDepth, "1"), nest(100, strings.Repeat("0,", 10_000)+"0")} {
		if got, err := AppendIndent([]byte("x"), []byte(s), 0); !errors.Is(err, ErrSize) || string(got) != "x" {
			t.Errorf("%.40s: %v, %d bytes", s, err, len(got))
		}
	}
}
