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
			if got := AppendIndent([]byte("x"), b, depth); string(got) != "x"+want.String() {
				t.Errorf("AppendIndent(%s, %d) = %s, want %s", b, depth, got, want.Bytes())
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
}

func TestAppendIndentJoinsPieces(t *testing.T) {
	const head, item, tail = `{"kind":"List","metadata":{},"items":[`, `{"a":[1]}`, `],"z":"}"}`
	got := AppendIndent(nil, []byte(head), 0)
	got = AppendIndent(got, []byte(item), 2)
	got = AppendIndent(got, []byte(tail), 2)
	var want bytes.Buffer
	if err := stdjson.Indent(&want, []byte(head+item+tail), "", "  "); err != nil {
		t.Fatal(err)
	}
	if string(got) != want.String() {
		t.Errorf("got\n%s\nwant\n%s", got, want.Bytes())
	}
}

func TestAppendBoundedIndentRefusesWhatExpands(t *testing.T) {
	check := func(b []byte) {
		t.Helper()
		got, err := AppendBoundedIndent([]byte("x"), b, 2, nil)
		if want := AppendIndent([]byte("x"), b, 2); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%.40s: %v, %d bytes, want %d", b, err, len(got), len(want))
		}
	}
	for _, f := range jsontest.Corpus(t) {
		check(f.JSON)
	}
	check([]byte(strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100))) // 20 KB of 600 bytes
	nest := func(n int, inner string) string { return strings.Repeat("[", n) + inner + strings.Repeat("]", n) }
	for _, b := range []string{nest(MaxDepth, ""), nest(MaxDepth, "1"), nest(100, strings.Repeat("0,", 10_000)+"0"), strings.Repeat("[", MaxDepth)} {
		if got, err := AppendBoundedIndent([]byte("x"), []byte(b), 0, nil); !errors.Is(err, ErrSize) || string(got) != "x" {
			t.Errorf("%.40s: %v, %d bytes", b, err, len(got))
		}
	}
}

// Each of several values has a bound of its own.
func TestAppendBoundedIndentBoundsEachOfSeveralValues(t *testing.T) {
	deep := strings.Repeat("[", 200) + strings.Repeat("]", 200) // 81 KB of 400 bytes
	deeper := strings.Repeat("[", 300) + strings.Repeat("]", 300)
	long := `"` + strings.Repeat("a", 100<<10) + `"`
	for _, row := range []struct {
		values []string
		ok     bool
	}{
		{[]string{`{"a":[1,{}]}`, `{}`, `"b"`}, true},
		{[]string{long, `[1]`, long}, true},
		{[]string{deep, long, deep}, false},
		{[]string{long, deeper}, false},
		{[]string{deeper, long}, false},
		{[]string{long, deeper, long}, false},
	} {
		var want []byte
		each := true
		for i, v := range row.values {
			if i > 0 {
				want = append(want, ",\n    "...)
			}
			var err error
			if want, err = AppendBoundedIndent(want, []byte(v), 2, nil); err != nil {
				each = false
			}
		}
		got, err := AppendBoundedIndent([]byte("x"), []byte(strings.Join(row.values, ",")), 2, nil)
		if (err == nil) != row.ok || each != row.ok {
			t.Errorf("%.40q: %v, one by one %v", row.values, err, each)
		}
		if row.ok && string(got) != "x"+string(want) || !row.ok && string(got) != "x" {
			t.Errorf("%.40q: %d bytes, want %d", row.values, len(got), len(want))
		}
	}
}
