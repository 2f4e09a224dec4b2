package yaml

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	yamlv2 "go.yaml.in/yaml/v2"
	sigsyaml "sigs.k8s.io/yaml"

	"sluice/codec/json"
	"sluice/test/support/jsontest"
)

// oracle returns the YAML of the apiserver or, where that fails, of yaml/v2 for the decoded value.
func oracle(t testing.TB, src []byte) string {
	t.Helper()
	out, err := sigsyaml.JSONToYAML(src)
	if err == nil {
		return string(out)
	}
	d := stdjson.NewDecoder(bytes.NewReader(src))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", src, err)
	}
	if out, err = yamlv2.Marshal(numbers(v)); err != nil {
		t.Fatalf("%s: %v", src, err)
	}
	return string(out)
}

// numbers gives numbers the Go types of the YAML parser, and folds strings in its way.
func numbers(v any) any {
	switch v := v.(type) {
	case string:
		folded := v
		if strings.Contains(v, "\u0085") && yamlv2.Unmarshal(json.AppendString(nil, v), &folded) == nil {
			return folded
		}
	case stdjson.Number:
		var n any
		if err := yamlv2.Unmarshal([]byte(v), &n); err != nil {
			panic(err)
		}
		return n
	case []any:
		for i := range v {
			v[i] = numbers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = numbers(v[k])
		}
	}
	return v
}

func check(t *testing.T, src []byte) {
	t.Helper()
	if chancy(src) {
		return
	}
	want := oracle(t, src)
	got, err := AppendFromJSON([]byte("x\n"), src)
	if err != nil || string(got) != "x\n"+want {
		t.Errorf("%s: %v, got\n%q, want\n%q", src, err, strings.TrimPrefix(string(got), "x\n"), want)
	}
}

func TestAppendFromJSONOfEveryKindEqualsTheApiserver(t *testing.T) {
	for _, f := range append(jsontest.Corpus(t), jsontest.Realistic()...) {
		got, err := AppendFromJSON(nil, f.JSON)
		if diff := cmp.Diff(oracle(t, f.JSON), string(got)); err != nil || diff != "" {
			t.Errorf("%s: %v, %s", f.Name, err, diff)
		}
	}
}

func TestAppendFromJSONOfStringsEqualsTheApiserver(t *testing.T) {
	for _, s := range jsontest.Strings {
		q := string(json.AppendString(nil, s))
		for _, form := range []string{`%s`, `[%s]`, `[%s,1]`, `{"a":%s}`, `{"a":%s,"b":1}`, `{"a":[%s,%[1]s]}`, `{"a":[[%s],{"b":%[1]s}]}`, `{%s:1}`, `{%s:{"a":1}}`, `{%s:[1,{"b":[2]}],"zz":1}`, `{%s:%[1]s,"zz":1}`, `[{%s:%[1]s}]`, `{"a":{"b":{"c":{%s:%[1]s}}}}`} {
			check(t, fmt.Appendf(nil, form, q))
		}
	}
}

func TestAppendFromJSONOfNumbersEqualsTheApiserver(t *testing.T) {
	for _, n := range append(jsontest.Numbers, jsontest.BigNumbers...) {
		check(t, []byte(n))
		check(t, []byte(`{"a":[`+n+`]}`))
	}
}

func TestAppendFromJSONOfRandomValuesEqualsTheApiserver(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		if check(t, jsontest.Random(r, 5)); t.Failed() {
			return
		}
	}
}

// The corpus has few strings that look like numbers and times, so this test makes them from pieces.
func TestAppendFromJSONQuotesStringsThatLookLikeOtherTypes(t *testing.T) {
	pieces := []string{"0", "1", "9", "12", "2001", "-", "-", "+", ".", ":", "_", "e", "E", "x", "b", "o", "0x", "0b", "f", "T", "t", "Z", " ", "07", "60", "5", "n", "i"}
	r := rand.New(rand.NewPCG(3, 4))
	for range 100000 {
		var b strings.Builder
		for range 1 + r.IntN(8) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		if check(t, json.AppendString(nil, b.String())); t.Failed() {
			return
		}
	}
	for _, s := range []string{"2001-02-30", "2001-02-28", "2024-02-29T00:00:00Z", "2023-02-29T00:00:00Z", "2001-13-01T00:00:00Z", "2001-12-31T24:00:00Z", "2001-1-1T1:2:3Z", "2001-01-01T00:00:00+01:00", "2001-01-01t00:00:00.5Z", "2001-01-01 00:00:00", "2001-01-01 00:00:00 Z", strings.Repeat("9", 400), "-" + strings.Repeat("9", 309), "1." + strings.Repeat("0", 400), "0x" + strings.Repeat("f", 16), "-0x8000000000000000", "0x8000000000000000", "0b-1", "-0b1", "-0b+1", "0b+1", "1_0:3", "+1:59.", "1:60", "5e-324", "1e-400", ".1e999"} {
		check(t, json.AppendString(nil, s))
	}
}

func TestAppendFromJSONFoldsLikeTheApiserver(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	words := []string{"a", "word", "longer", " ", " ", "  ", "é", "日本", "'", "\"", ":", ": ", " #", "-", "\t", "\\", "\u2028", "😀", "\n", strings.Repeat("x", 70)}
	for range 20000 {
		var b strings.Builder
		for range 10 + r.IntN(60) {
			b.WriteString(words[r.IntN(12+r.IntN(len(words)-11))])
			if r.IntN(2) == 0 {
				b.WriteByte(' ')
			}
		}
		q := json.AppendString(nil, b.String())
		if check(t, fmt.Appendf(nil, `{"k":%s,"l":[%[1]s,{"m":%[1]s}],%[1]s:%[1]s}`, q)); t.Failed() {
			return
		}
	}
}

func TestAppendFromJSONKeepsTheLastDuplicate(t *testing.T) {
	for _, src := range []string{`{"a":1,"a":2}`, `{"b":1,"a":2,"b":{"x":1,"x":2}}`, `{"a":1,"\u0061":2,"c":3}`} {
		check(t, []byte(src))
	}
}

func TestNamesAreOrderedLikeTheApiserver(t *testing.T) {
	pieces := []string{"a", "b", "A", "Z", "0", "1", "2", "9", "10", "01", "00", "-", ".", "/", "_", "é", "日", "٣", "😀", "~", " "}
	r := rand.New(rand.NewPCG(7, 8))
	for range 50000 {
		var names [2]string
		for i := range names {
			for range r.IntN(6) {
				names[i] += pieces[r.IntN(len(pieces))]
			}
		}
		a, b := names[0], names[1]
		if a == b {
			continue
		}
		m := map[string]int{a: 1, b: 1}
		out, err := yamlv2.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		first, _ := AppendFromJSON(nil, fmt.Appendf(nil, `{%s:1,%s:1}`, json.AppendString(nil, a), json.AppendString(nil, b)))
		if string(first) != string(out) {
			t.Fatalf("%q and %q: %q, want %q", a, b, first, out)
		}
	}
}

func TestAppendFromJSONErrors(t *testing.T) {
	for in, want := range map[string]error{
		"": json.ErrSyntax, "{": json.ErrSyntax, "[1,": json.ErrSyntax, `{"a"`: json.ErrSyntax, `{"a":1,}`: json.ErrSyntax, "[1 2]": json.ErrSyntax, "[1}": json.ErrSyntax, `{"a":1]`: json.ErrSyntax, `"a`: json.ErrSyntax, "1 2": json.ErrSyntax, "{1:2}": json.ErrSyntax, "]": json.ErrSyntax,
		strings.Repeat("[", json.MaxDepth+1): json.ErrDepth, strings.Repeat(`{"a":`, 1<<18): json.ErrDepth,
	} {
		if got, err := AppendFromJSON([]byte("x"), []byte(in)); !errors.Is(err, want) || string(got) != "x" {
			t.Errorf("%.40q: %.40q, %v, want %v", in, got, err, want)
		}
	}
}

func TestItemsAndMembersMakeTheList(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for range 2000 {
		var items [][]byte
		for range 1 + r.IntN(4) {
			items = append(items, jsontest.RandomObject(r, 3))
		}
		items = append(items, jsontest.Realistic()[r.IntN(3)].JSON)
		meta := []byte(`{"resourceVersion":"1","continue":""}`)
		list := []byte(`{"apiVersion":"v1","kind":"List","metadata":` + string(meta) + `,"items":[` + string(bytes.Join(items, []byte(","))) + `]}`)
		if chancy(list) {
			continue
		}
		out, _ := AppendMember(nil, "apiVersion", []byte(`"v1"`))
		out = append(out, "items:\n"...)
		for _, item := range items {
			out, _ = AppendItem(out, item)
		}
		out, _ = AppendMember(out, "kind", []byte(`"List"`))
		out, err := AppendMember(out, "metadata", meta)
		if diff := cmp.Diff(oracle(t, list), string(out)); err != nil || diff != "" {
			t.Fatalf("%s: %v, %s", list, err, diff)
		}
	}
}

func TestDeepDocumentsTakeLinearTime(t *testing.T) {
	const depth = 2000 // the output is quadratic
	src := strings.Repeat(`{"a":[`, depth) + `"` + strings.Repeat("x", 1<<20) + `"` + strings.Repeat("]}", depth)
	if _, err := AppendFromJSON(nil, []byte(src)); err != nil {
		t.Fatal(err)
	}
}

// Every line is indented, those of texts too.
func TestDocumentsThatExpandAreRefused(t *testing.T) {
	nest := func(n int, inner string) string { return strings.Repeat(`{"a":`, n) + inner + strings.Repeat("}", n) }
	for name, in := range map[string]string{
		"maps":    nest(json.MaxDepth, "1"),
		"lists":   nest(100, "["+strings.Repeat("0,", 10_000)+"0]"),
		"literal": nest(100, `"`+strings.Repeat(`a\n`, 10_000)+`"`),
		"odd":     nest(100, `"`+strings.Repeat(`a\u2028`, 10_000)+`\n"`),
		"folded":  nest(100, `"`+strings.Repeat("a ", 10_000)+`a"`),
		"single":  nest(100, `"# `+strings.Repeat("a ", 10_000)+`a"`),
		"double":  nest(100, `"\u0001`+strings.Repeat("a ", 10_000)+`a"`),
	} {
		if got, err := AppendFromJSON([]byte("x"), []byte(in)); !errors.Is(err, json.ErrSize) || string(got) != "x" {
			t.Errorf("%s: %v, %d bytes of %d", name, err, len(got), len(in))
		}
		if got, err := AppendItem([]byte("x"), []byte(in)); !errors.Is(err, json.ErrSize) || string(got) != "x" {
			t.Errorf("%s as an item: %v, %d bytes", name, err, len(got))
		}
	}
}

func FuzzAppendFromJSON(f *testing.F) {
	for _, s := range jsontest.Strings {
		if len(s) < 50 {
			f.Add([]byte(fmt.Sprintf(`{"a":[%s,1],%[1]s:{}}`, json.AppendString(nil, s))))
		}
	}
	f.Add(jsontest.Realistic()[2].JSON)
	f.Fuzz(func(t *testing.T, src []byte) {
		got, err := AppendFromJSON(nil, src)
		if json.Valid(src, json.Limits{Depth: 50}) != nil {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		var v any
		d := stdjson.NewDecoder(bytes.NewReader(src))
		d.UseNumber()
		if err := d.Decode(&v); err != nil {
			t.Fatal(err)
		}
		canonical, _ := stdjson.Marshal(v)
		if inconsistent(v) {
			return
		}
		if want := oracle(t, canonical); string(got) != want && !bytes.Contains(src, []byte("\u0085")) && !bytes.Contains(src, []byte(`\u0085`)) {
			t.Errorf("%q: got\n%q, want\n%q", src, got, want)
		}
	})
}

// chancy reports whether the output of the library for src is random.
func chancy(src []byte) bool {
	var v any
	return stdjson.Unmarshal(src, &v) == nil && inconsistent(v)
}

// inconsistent reports whether the comparison of the library does not order the names of an object,
// so that its output is random.
func inconsistent(v any) bool {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if inconsistent(e) {
				return true
			}
		}
	case map[string]any:
		var names []string
		for k, e := range v {
			if inconsistent(e) {
				return true
			}
			names = append(names, k)
		}
		sort.Slice(names, func(i, j int) bool { return compare([]byte(names[i]), []byte(names[j])) < 0 })
		for i := range names {
			for j := range i {
				if compare([]byte(names[j]), []byte(names[i])) >= 0 {
					return true
				}
			}
		}
	}
	return false
}
