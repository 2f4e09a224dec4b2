package json

import (
	"bytes"
	stdjson "encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/test/support/jsontest"
)

// decode builds the result of encoding/json with UseNumber through the methods of Value.
func decode(t testing.TB, v Value) any {
	t.Helper()
	switch v.Kind() {
	case Null:
		return nil
	case Bool:
		b, ok := v.Bool()
		if !ok {
			t.Fatalf("Bool of %q", v)
		}
		return b
	case Number:
		return stdjson.Number(v)
	case String:
		s, ok := v.Text()
		if !ok {
			t.Fatalf("Text of %q", v)
		}
		return s
	case Array:
		list := []any{}
		for i, e := range v.Elements {
			if i != len(list) {
				t.Fatalf("element %d has index %d", len(list), i)
			}
			list = append(list, decode(t, e))
		}
		if v.Len() != len(list) {
			t.Fatalf("Len is %d with %d elements", v.Len(), len(list))
		}
		return list
	case Object:
		m := map[string]any{}
		n := 0
		for key, e := range v.Members {
			m[string(key)] = decode(t, e)
			n++
		}
		if v.Len() != n {
			t.Fatalf("Len is %d with %d members", v.Len(), n)
		}
		return m
	}
	t.Fatalf("invalid value %q", v)
	return nil
}

func oracle(t testing.TB, b []byte) any {
	t.Helper()
	d := stdjson.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var want any
	if err := d.Decode(&want); err != nil {
		t.Fatalf("%q: %v", b, err)
	}
	return want
}

func TestValueDecodesLikeEncodingJSON(t *testing.T) {
	check := func(src, b []byte) {
		t.Helper()
		if want, got := oracle(t, src), decode(t, b); !reflect.DeepEqual(want, got) { // cmp is slow
			t.Fatalf("%s: %s", b, cmp.Diff(want, got))
		}
	}
	for _, f := range jsontest.Corpus(t) {
		check(f.JSON, f.JSON)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		b := jsontest.Random(r, 5)
		check(b, b)
		var indented bytes.Buffer
		if err := stdjson.Indent(&indented, b, " ", "\t"); err != nil {
			t.Fatal(err)
		}
		check(b, indented.Bytes())
	}
}

func TestTextDecodesEscapes(t *testing.T) {
	for _, in := range []string{
		`""`, `"a"`, `"\""`, `"\\"`, `"\\\""`, `"\/\b\f\n\r\t"`, `"\u0041\u00e9\u65e5"`, `"\ud83d\ude00"`, `"\ud83d"`, `"\ude00"`,
		`"\ud83d\ud83d\ude00"`, `"\ud83dx"`, `"\ud83d\n"`, `"a\u0000b"`, "\"\xff\"", "\"a\xc3\"", "\"\xed\xa0\x80\"", `"12345678\"12345678"`,
		"\"\xf0\x9f\x98\x80\"", `"\uD83D\uDE00"`, `"é\\"`, `"1234567\\"`, `"12345678901234567890é\n"`,
	} {
		var want string
		if err := stdjson.Unmarshal([]byte(in), &want); err != nil {
			t.Fatalf("%s: %v", in, err)
		}
		if got, ok := Value(in).Text(); !ok || got != want {
			t.Errorf("Text(%s) = %q, %v, want %q", in, got, ok, want)
		}
		if got, ok := Value(in).AppendText([]byte("x")); !ok || string(got) != "x"+want {
			t.Errorf("AppendText(%s) = %q, %v, want %q", in, got, ok, want)
		}
	}
	for _, in := range []string{"", "1", `"`, `"a`, `"\"`, `"a"b"`, "null"} {
		if got, ok := Value(in).Text(); ok {
			t.Errorf("Text(%s) = %q, want none", in, got)
		}
	}
}

func TestGetReturnsTheFirstMatch(t *testing.T) {
	v := Value(`{"a":{"b":[1,{"c":2}],"\u0063":"x","c":"y"},"":3,"n":null}`)
	for _, tt := range []struct {
		path []string
		want string
	}{
		{nil, string(v)},
		{[]string{"a", "b"}, `[1,{"c":2}]`},
		{[]string{"a", "c"}, `"x"`},
		{[]string{""}, `3`},
		{[]string{"n"}, `null`},
		{[]string{"n", "x"}, ``},
		{[]string{"a", "b", "c"}, ``},
		{[]string{"z"}, ``},
	} {
		if got := v.Get(tt.path...); string(got) != tt.want {
			t.Errorf("Get(%q) = %s, want %s", tt.path, got, tt.want)
		}
	}
}

func TestIntAcceptsOnlyIntegersOf64Bits(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want int64
		ok   bool
	}{
		{"0", 0, true}, {"-0", 0, true}, {"42", 42, true}, {"-42", -42, true},
		{"9223372036854775807", 1<<63 - 1, true}, {"9223372036854775808", 0, false},
		{"-9223372036854775808", -1 << 63, true}, {"-9223372036854775809", 0, false},
		{"18446744073709551616", 0, false}, {"9999999999999999999", 0, false},
		{"1.0", 0, false}, {"1e3", 0, false}, {"", 0, false}, {"-", 0, false}, {`"1"`, 0, false}, {"true", 0, false},
	} {
		if got, ok := Value(tt.in).Int(); got != tt.want || ok != tt.ok {
			t.Errorf("Int(%s) = %d, %v, want %d, %v", tt.in, got, ok, tt.want, tt.ok)
		}
	}
}

func TestFloatEqualsStrconv(t *testing.T) {
	for _, in := range jsontest.Numbers {
		want, _ := stdjson.Number(in).Float64()
		if got, ok := Value(in).Float(); !ok || got != want {
			t.Errorf("Float(%s) = %v, %v, want %v", in, got, ok, want)
		}
	}
	for _, in := range []string{"", "x", "1e999", "null", "-", `"1"`} {
		if got, ok := Value(in).Float(); ok {
			t.Errorf("Float(%s) = %v, want none", in, got)
		}
	}
}

func TestAppendStringEqualsEncodingJSON(t *testing.T) {
	check := func(s string) {
		t.Helper()
		want, err := stdjson.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := AppendString(nil, s); !bytes.Equal(got, want) {
			t.Errorf("AppendString(%q) = %s, want %s", s, got, want)
		}
		if got := AppendString([]byte("x"), []byte(s)); string(got) != "x"+string(want) {
			t.Errorf("AppendString([]byte(%q)) = %s, want x%s", s, got, want)
		}
	}
	for _, s := range jsontest.Strings {
		check(s)
	}
	for c := range 0x3000 {
		check(string(rune(c)))
		check("a" + string(rune(c)) + "b")
	}
	for _, s := range []string{"\xff", "a\xc3", "\xe2\x80", "\xe2\x80\xa8\xe2\x80", "\xed\xa0\x80", "\xf0\x9f\x98"} {
		check(s)
	}
}

func TestMalformedValuesAreAbsent(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, f := range jsontest.Corpus(t)[:20] {
		for range 200 {
			b := bytes.Clone(f.JSON)
			switch r.IntN(3) {
			case 0:
				b = b[:r.IntN(len(b))]
			case 1:
				b[r.IntN(len(b))] = byte(r.IntN(256))
			case 2:
				i := r.IntN(len(b))
				b = append(b[:i], b[min(len(b), i+1+r.IntN(9)):]...)
			}
			exercise(b)
		}
	}
	for _, s := range []string{"{", "[", `{"`, `{"a`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{,}`, `[,]`, `[1,]`, `[1 2]`, `{"a" 1}`, `{"a":}`, `{"a":"\`, "]", "}", `{"a":]}`, `"\u12`, `"\`, "\\"} {
		exercise([]byte(s))
	}
}

// exercise calls every function that takes an object, to check that it returns.
func exercise(b []byte) {
	walk(b, 0)
	v := Value(b)
	v.Get("metadata", "name")
	ParseObjectMeta(b)
	AppendWithResourceVersion(nil, b, "1")
	AppendWithoutTypeMeta(nil, b)
	AppendWithTypeMeta(nil, b, "v1", "Pod")
	skipValue(b, skipSpace(b, 0))
}

func walk(v Value, depth int) {
	v.Text()
	v.Int()
	v.Float()
	v.Bool()
	v.Len()
	if depth > 50 {
		return
	}
	for _, e := range v.Members {
		walk(e, depth+1)
	}
	for _, e := range v.Elements {
		walk(e, depth+1)
	}
}
