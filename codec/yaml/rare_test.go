package yaml

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	yamlv2 "go.yaml.in/yaml/v2"

	"sluice/codec/json"
)

// The alphabet has the characters of every rule of the emitter and of the resolver. ROUNDS sets how many documents of 200
// texts are made.
func TestAppendFromJSONOfOddTextsEqualsTheLibrary(t *testing.T) {
	alphabet := strings.Split("é|ü|日|\u0085|\u2028|\u2029|\ufeff|\ufffe|\ufffd|\u00a0|\u009f|😀|\x00|\x01|\x07|\x1b|\x7f|\r|\n|\n|\t|'|'|\"|\\|#|:|-|?|~|.|,|[|{|&|*|!|%|@|`|>|<<|=|+|_|0|1|5|60|0x|0b|e|E|inf|nan|y|no|null|true|---|...|2001-01-01|T00:00:00Z|a|b|\xff|\xc2|\xe2\x80|\xed\xa0\x80|"+strings.Repeat("x", 40), "|")
	r := rand.New(rand.NewPCG(11, 12))
	text := func() string {
		var b strings.Builder
		some := alphabet
		if r.IntN(2) == 0 { // few of them, so that texts occur that need no escapes
			some = []string{alphabet[r.IntN(len(alphabet))], alphabet[r.IntN(len(alphabet))], "a", "word"}
		}
		most := []int{2, 4, 8, 40, 120}[r.IntN(5)]
		for range r.IntN(most + 1) {
			for range r.IntN(3) * r.IntN(2) {
				b.WriteByte(' ')
			}
			b.WriteString(some[r.IntN(len(some))])
		}
		return b.String()
	}
	quoted := func(s string) string { // keeps bytes that are not UTF-8, but not U+0085, which differs if it is not escaped
		q := []byte{'"'}
		for _, c := range []byte(s) {
			if q = append(q, c); c < ' ' || c == '"' || c == '\\' {
				q = fmt.Appendf(q[:len(q)-1], `\u%04x`, c)
			}
		}
		return strings.ReplaceAll(string(q), "\u0085", `\u0085`) + `"`
	}
	rounds, _ := strconv.Atoi(os.Getenv("ROUNDS"))
	for range max(rounds, 100) {
		items := []string{"0"}
		for range 50 {
			items = append(items, quoted(text()), fmt.Sprintf(`{%s:%s}`, quoted(text()), quoted(text())), fmt.Sprintf(`{%s:[1]}`, quoted(text())))
		}
		depth := []int{0, 0, 1, 20, 39, 60}[r.IntN(6)]
		src := []byte(strings.Repeat(`{"k":[`, depth) + "[" + strings.Join(items, ",") + "]" + strings.Repeat("]}", depth))
		if depth == 0 {
			src = []byte(quoted(text()))
		}
		var v any
		if err := stdjson.Unmarshal(src, &v); err != nil {
			t.Fatal(err)
		}
		want, err := yamlv2.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		p := &printer{output: output{limit: 1 << 30, fresh: true}}
		if err := p.build(src); err != nil {
			t.Fatal(err)
		}
		if p.document(); !bytes.Equal(p.dst, want) {
			at := 0
			for p.dst[at] == want[at] {
				at++
			}
			t.Fatalf("depth %d: %q, want %q", depth, p.dst[max(0, at-200):min(len(p.dst), at+50)], want[max(0, at-200):min(len(want), at+50)])
		}
	}
}

// The library allocates for each text, and more the deeper it is.
func TestOddTextsTakeLinearTime(t *testing.T) {
	const depth, n = 60, 1000
	for _, text := range []string{"é", "😀", "\t", "\u0001", "'", "a\u2028", strings.Repeat("é ", 60), "18446744073709551616"} {
		q := string(json.AppendString(nil, text))
		if text[0] == '1' {
			q = text
		}
		src := []byte(strings.Repeat("[", depth) + q + strings.Repeat(","+q, n) + strings.Repeat("]", depth))
		dst := make([]byte, 0, 1<<20)
		allocs := testing.AllocsPerRun(1, func() {
			if _, err := AppendFromJSON(dst, src); err != nil && !errors.Is(err, json.ErrSize) {
				t.Fatal(err)
			}
		})
		if allocs > 3*n {
			t.Errorf("%q: %v allocations for %d texts", text, allocs, n)
		}
	}
}

// Only the library knows what a line break in JSON is to its parser.
func TestTextsOfTheParserAreBounded(t *testing.T) {
	list := func(n int) []byte { return []byte("[0" + strings.Repeat(",\"\u0085\"", n) + "]") }
	if _, err := AppendFromJSON(nil, list(20)); err != nil {
		t.Error(err)
	}
	if got, err := AppendFromJSON([]byte("x"), list(100_000)); !errors.Is(err, json.ErrSize) || string(got) != "x" {
		t.Errorf("%v, %d bytes", err, len(got))
	}
}
