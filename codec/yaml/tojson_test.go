package yaml

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sigsyaml "sigs.k8s.io/yaml"

	"sluice/codec/json"
	"sluice/test/support/jsontest"
)

// maxOutput is a limit that only hostile documents exceed.
const maxOutput = 16 << 20

// documents are valid and invalid YAML documents.
var documents = []string{
	"", " ", "\n", "---\n", "--- a\n", "a: 1\nb: [1, 2.5, 1e3, true, yes, off, ~, null, '', \"x\\ty\"]\n", "{a: 1, b: {c: d}}", "[1, [2, [3]]]", "{\"a\":1}", "a", "'a'", "1", "1.0", "0x1f", "0o17", "017", "0b11", "1_000", "1e400", ".inf", "-.inf", ".nan", "a: .inf", "12345678901234567890", "-9223372036854775809", "123456789012345678901234567890", "1e-7", "1e-10", "1e21", "1e20", "0.1", "-0", "-0.0",
	"2001-01-01", "a: 2001-01-01T00:00:00Z", "12:30:45", "a: |\n  x\n   y\n\n", "a: >-\n  x\n  y\n\n  z\n", "a: |+\n  x\n\n\nb: 1", "a: \"x\\u00e9\\U0001F600\\x41\\n\\\n  y\"", "a: 'it''s'",
	"1: a\n2: b", "1.5: a", "1.1: x", "123456789.125: x", "true: a\nno: b", "~: a", "null: a", "? [a]\n: b", "? {a: b}\n: c", "? |\n  a\n: b", "12345678901234567890: a", ".inf: a", ".nan: a", "2001-01-01: a",
	"a: 1\na: 2", "a: 1\nb: 2\na: 3\n", "a: {x: 1, x: 2}", "1: a\n'1': b",
	"a: &x {b: c}\nd: *x\n", "a: &x 1\nb: [*x, *x]", "a: *x", "a: &x [*x]", "base: &b {x: 1, y: 2}\nd:\n  <<: *b\n  y: 3\n", "<<: {a: 1}\nb: 2", "<<: [{a: 1}, {a: 2, c: 3}]", "<<: 1", "'<<': 1",
	"a: !!str 1", "a: !!int '1'", "a: !!float 1", "a: !!binary aGVsbG8=", "a: !!binary /+8=", "a: !!binary x", "a: !foo b", "a: !!null x", "a: !!bool yes", "!!set {a, b}", "a: !!timestamp 2001-01-01", "%YAML 1.1\n---\na: b", "%YAML 1.2\n---\na: b",
	"a: b\n---\nc: d\n", "a: b\n...\nc: d", "# only a comment", "a: b # comment", "a:\n- 1\n- 2\n- b: c\n  d: e\n", "- - 1\n  - 2\n- 3", "a:\n  - b\n -c", "a: b: c", "\ta: b", "a:\tb", "a: [1, 2", "{a: 1", "a: 'b", "a: \"b", "a: @b", "a: `b", "a: %b", "- a\nb: c", "a: b\n c: d", "\xff", "a: \xff", "a: \x00", "a: \x7f", "\ufeffa: b", "a: \ufeff", "a\u0085b: c", "\xfe\xff\x00a", "\xff\xfea\x00", "a: \"\\ud83d\\ude00\"", "a: \"\\/\"", "<html>: '&'", "a: \u2028", "a: &a", "a: *", "&", "*", "!", "!!", "|", ">", "?", ":", "-", "@", "[", "{", "]", "}", ",", "[,]", "{,}", "{a}", "[a: b]", "{a: b, }", "? a", "? a\n? b", "a:", "a: {}", "a: []",
}

// checkToJSON compares AppendJSON and StrictError with sigs.k8s.io/yaml.
func checkToJSON(t *testing.T, src []byte) {
	t.Helper()
	want, wantErr := sigsyaml.YAMLToJSON(src)
	got, err := AppendJSON([]byte("x"), src, maxOutput)
	switch {
	case errors.Is(err, json.ErrSize) || errors.Is(err, json.ErrDepth):
	case wantErr != nil:
		if err == nil || string(got) != "x" || !errors.Is(err, ErrDecode) || !strings.Contains(wantErr.Error(), "map[") && err.Error() != wantErr.Error() {
			t.Errorf("%q: %s, %v, want error %v", src, got, err, wantErr)
		}
	case err != nil || string(got) != "x"+string(want):
		t.Errorf("%q: %s, %v, want %s", src, got, err, want)
	}
	_, wantErr = sigsyaml.YAMLToJSONStrict(src)
	if err := StrictError(src); wantErr != nil && strings.Contains(wantErr.Error(), "already set") && (err == nil || err.Error() != wantErr.Error()) {
		t.Errorf("%q: strict %v, want %v", src, err, wantErr)
	}
}

func TestAppendJSONEqualsTheApiserver(t *testing.T) {
	for _, src := range documents {
		if src != "1: a\n'1': b" { // the apiserver uses one of them at random
			checkToJSON(t, []byte(src))
		}
	}
	if got, err := AppendJSON(nil, []byte("1: a\n'1': b"), maxOutput); err != nil || string(got) != `{"1":"b"}` {
		t.Errorf("%s, %v", got, err)
	}
}

func TestAppendJSONOfEveryKindEqualsTheApiserver(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(jsontest.CorpusDir(t), "*.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatal("no corpus", err)
	}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		checkToJSON(t, b)
	}
}

func TestAppendJSONReadsTheOutputOfAppendFromJSON(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for range 5000 {
		b := jsontest.Random(r, 4)
		out, err := AppendFromJSON(nil, b)
		if err != nil {
			t.Fatal(err)
		}
		checkToJSON(t, out)
		checkToJSON(t, b)
		out[r.IntN(len(out))] = "\n \t:-#'\"[]{}&*!|>%@0a\x00\xff"[r.IntN(23)]
		checkToJSON(t, out)
	}
}

func TestAppendJSONBoundsHostileDocuments(t *testing.T) {
	laughs := "a0: &a0 [lol,lol,lol,lol,lol,lol,lol,lol,lol]\n"
	for i := range 12 {
		laughs += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i), 9), ","))
	}
	long := "a: &a \"" + strings.Repeat("x", 1<<20) + "\"\nb: [" + strings.TrimSuffix(strings.Repeat("*a,", 900), ",") + "]\n"
	nested := func(s string) string {
		return strings.Repeat("[", json.MaxDepth*2/3) + s + strings.Repeat("]", json.MaxDepth*2/3)
	}
	for name, tt := range map[string]struct {
		src   string
		limit int
		want  error
	}{
		"billion laughs":       {laughs, maxOutput, ErrDecode},
		"long text repeated":   {long, maxOutput, json.ErrSize},
		"long name repeated":   {"a: &a {" + strings.Repeat("k", 1000) + ": 1}\nb: [" + strings.TrimSuffix(strings.Repeat("*a,", 900), ",") + "]\n", 1 << 16, json.ErrSize},
		"deep flow":            {strings.Repeat("[", 1<<18), maxOutput, ErrDecode},
		"deep flow maps":       {strings.Repeat("{a: ", 1<<18), maxOutput, ErrDecode},
		"deep block":           {strings.Repeat("- ", 1<<16) + "a", maxOutput, ErrDecode},
		"deep by aliases":      {"a: &a " + nested("x") + "\nb: " + nested("*a"), maxOutput, json.ErrDepth},
		"recursive":            {"a: &a {b: *a}", maxOutput, ErrDecode},
		"explicit keys":        {strings.Repeat("? ", 1<<16), maxOutput, ErrDecode},
		"many documents":       {strings.Repeat("---\na\n", 1<<16), maxOutput, nil},
		"huge number":          {strings.Repeat("9", 1<<20), maxOutput, nil},
		"quotes":               {strings.Repeat("\"", 1<<18), maxOutput, nil},
		"many anchors":         {strings.Repeat("- &a x\n", 1<<16), maxOutput, nil},
		"many aliases of null": {"a: &a\nb: [" + strings.TrimSuffix(strings.Repeat("*a,", 1<<16), ",") + "]", maxOutput, nil},
	} {
		if got, err := AppendJSON([]byte("x"), []byte(tt.src), tt.limit); !errors.Is(err, tt.want) || err != nil && string(got) != "x" {
			t.Errorf("%s: %.60q, %v, want %v", name, got, err, tt.want)
		}
	}
}

func FuzzAppendJSON(f *testing.F) {
	for _, s := range documents {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		out, err := AppendJSON(nil, src, 1<<20)
		if err != nil {
			return
		}
		if !stdjson.Valid(out) {
			t.Fatalf("%q: %s", src, out)
		}
		if err := json.Valid(out, json.Limits{}); err != nil {
			t.Fatal(err)
		}
		// Of names that become the same text the apiserver uses one at random.
		for range 50 {
			want, err := sigsyaml.YAMLToJSON(src)
			if err != nil {
				t.Fatalf("%s, want %v", out, err)
			}
			if string(out) == string(want) {
				return
			}
		}
		t.Fatalf("%s differs from the conversion of the apiserver", out)
	})
}
