package json

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	kjson "sigs.k8s.io/json"

	"sluice/test/support/jsontest"
)

// malformed are documents that differ from JSON in one place.
var malformed = []string{
	"", " ", "{", "}", "[", "]", `"`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{,}`, `{"a" 1}`, `{"a":1 "b":2}`, `{1:2}`, `{"a":1]`, `[1}`, `[1,]`, `[,1]`, `[1 2]`, `{}{}`, `[] x`, `1 2`,
	"tru", "truee", "True", "nul", "-", "+1", "01", "-01", "1.", ".5", "1e", "1e+", "1.e3", "0x1", "1_0", "NaN", "Infinity", "- 1", "1.5.5", "1e5e5",
	`"\`, `"\x"`, `"\u12"`, `"\u12g4"`, `"\u`, "\"\n\"", "\"\x00\"", "\"\x1f\"", "\"abcdefgh\x01\"", `'a'`, `{'a':1}`, `{"a":1}}`, `[[]`, "//\n1", "/**/1", "\ufeff1", "{\"a\":\v1}", "\x00", `[""`, `["a",`, `{"":}`, `{a:1}`,
}

func TestValidAgreesWithEncodingJSON(t *testing.T) {
	check := func(b []byte) {
		t.Helper()
		if got, want := Valid(b, 0), stdjson.Valid(b); (got == nil) != want {
			t.Errorf("Valid(%q): %v, encoding/json says %v", b, got, want)
		}
	}
	for _, s := range malformed {
		if stdjson.Valid([]byte(s)) {
			t.Fatalf("%q is valid", s)
		}
		check([]byte(s))
	}
	for _, n := range append(jsontest.Numbers, jsontest.BigNumbers...) {
		check([]byte(n))
		check([]byte(n + "."))
	}
	r := rand.New(rand.NewPCG(5, 6))
	for range 20000 {
		b := jsontest.Random(r, 4)
		if err := Valid(b, 0); err != nil {
			t.Errorf("Valid(%s): %v", b, err)
		}
		if len(b) < 2000 {
			check(mutate(r, b))
		}
	}
	for _, f := range jsontest.Corpus(t) {
		if err := Valid(f.JSON, 0); err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
}

// mutate damages a copy of b in one place.
func mutate(r *rand.Rand, b []byte) []byte {
	const bytesOfInterest = "{}[]\",:\\ \n0123456789.eE+-truefalsn\x00\x1f\x7f\x80\xff"
	b = bytes.Clone(b)
	i := r.IntN(len(b))
	switch r.IntN(4) {
	case 0:
		return b[:i]
	case 1:
		b[i] = bytesOfInterest[r.IntN(len(bytesOfInterest))]
	case 2:
		return append(b[:i], b[i+1:]...)
	case 3:
		return append(b[:i], append([]byte{bytesOfInterest[r.IntN(len(bytesOfInterest))]}, b[i:]...)...)
	}
	return b
}

func TestValidEnforcesLimits(t *testing.T) {
	nested := func(n int) []byte {
		return []byte(strings.Repeat("[", n) + strings.Repeat("]", n))
	}
	objects := func(n int) []byte {
		return []byte(strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n))
	}
	for name, tt := range map[string]struct {
		in    []byte
		depth int
		want  error
	}{
		"deepest":             {nested(MaxDepth), 0, nil},
		"too deep":            {nested(MaxDepth + 1), 0, ErrDepth},
		"deepest objects":     {objects(MaxDepth), 0, nil},
		"too deep objects":    {objects(MaxDepth + 1), 0, ErrDepth},
		"never deeper":        {nested(MaxDepth + 1), 1 << 30, ErrDepth},
		"bomb":                {bytes.Repeat([]byte("["), 1<<20), 0, ErrDepth},
		"less deep":           {nested(3), 2, ErrDepth},
		"at depth":            {nested(3), 3, nil},
		"scalar at depth":     {[]byte(`{"a":[1]}`), 2, nil},
		"no UTF-8, loose":     {[]byte("{\"a\":\"b\xff\"}"), 0, nil},
		"lone surrogate":      {[]byte(`"\ud800"`), 0, nil},
		"no UTF-8 outside":    {[]byte("\xff"), 0, ErrSyntax},
		"truncated":           {[]byte(`{"a":[1,2`), 0, ErrSyntax},
		"truncated string":    {[]byte(`{"a":"x`), 0, ErrSyntax},
		"truncated escape":    {[]byte(`{"a":"\u00`), 0, ErrSyntax},
		"truncated literal":   {[]byte(`[tru`), 0, ErrSyntax},
		"very long number":    {bytes.Repeat([]byte("9"), 1<<20), 0, nil},
		"trailing characters": {[]byte("{} {}"), 0, ErrSyntax},
	} {
		if err := Valid(tt.in, tt.depth); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
}

// The apiserver decodes request bodies with sigs.k8s.io/json.
func TestAllowInvalidUTF8EqualsTheApiserver(t *testing.T) {
	for _, in := range []string{"\"\xff\"", "\"a\xc3\"", "\"\xed\xa0\x80\"", `"\ud800"`, `"\ud800\u0041"`} {
		var want any
		if err := kjson.UnmarshalCaseSensitivePreserveInts([]byte(in), &want); err != nil {
			t.Fatal(err)
		}
		if err := Valid([]byte(in), 0); err != nil {
			t.Errorf("%q: %v", in, err)
		}
		if got, _ := Value(in).Text(); got != want {
			t.Errorf("Text(%q) = %q, want %q", in, got, want)
		}
	}
	deep := []byte(strings.Repeat("[", 10001) + strings.Repeat("]", 10001))
	var v any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(deep, &v); err == nil {
		t.Error("the apiserver nests deeper than MaxDepth")
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(deep[1:len(deep)-1], &v); err != nil {
		t.Errorf("the apiserver does not nest as deep as MaxDepth: %v", err)
	}
}

func FuzzValid(f *testing.F) {
	for _, s := range append(malformed, fields, "\"\u2028\"", `{"a":{}}`) {
		f.Add([]byte(s))
	}
	f.Add([]byte(`{"kind":"Pod","metadata":{"name":"a","labels":{"a":"b\n"}},"spec":[1,-2.5e3,true,null,[],{}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		want := stdjson.Valid(b)
		if got := Valid(b, 0); (got == nil) != want {
			t.Fatalf("%v, encoding/json says %v", got, want)
		}
		exercise(b)
		checkCompact(t, b)
		_, _ = PartialObjectMetadata(b, "meta.k8s.io/v1")
		got, err := AppendIndent(nil, b, 0)
		if !want || errors.Is(err, ErrSize) {
			return
		}
		var indented bytes.Buffer
		if e := stdjson.Indent(&indented, bytes.TrimSpace(b), "", "  "); e != nil || err != nil || !bytes.Equal(got, indented.Bytes()) {
			t.Errorf("AppendIndent gives %q, %v, want %q, %v", got, err, indented.Bytes(), e)
		}
	})
}
