package json

import (
	"bytes"
	stdjson "encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"sluice/test/support/jsontest"
)

// marshaled is a json.Marshaler that returns itself.
type marshaled []byte

func (m marshaled) MarshalJSON() ([]byte, error) { return m, nil }

// checkCompact compares AppendCompact with encoding/json.
func checkCompact(t testing.TB, src []byte) {
	t.Helper()
	want, wantErr := stdjson.Marshal(marshaled(src))
	got, err := AppendCompact(nil, src)
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%q: %v, want %v", src, err, wantErr)
	}
	if err == nil && !bytes.Equal(got, want) {
		t.Fatalf("%q: got %q, want %q", src, got, want)
	}
}

// fields is a FieldsV1 in the form in which the apiserver stores it.
const fields = `{"f:metadata":{"f:labels":{".":{},"f:app":{}},"f:ownerReferences":{".":{},"k:{\"uid\":\"0b1c\"}":{}}},"f:spec":{}}`

func TestAppendCompactPrintsLikeEncodingJSON(t *testing.T) {
	for _, s := range []string{
		"", " ", "null", "nul", "nulll", " true ", "false", "0", "-0", "-", "01", "1.", "1.5", ".5", "1e", "1e5", "1E+05", "1e-x", "--1",
		`""`, `"`, `"\`, `"\"`, `"\u12"`, `"\u12ag"`, `"\u12aF"`, `"\x"`, "\"\x01\"", "\"\x7f\"", "\"\xff\"", "\"\u2028\u2029\u2027\"", "\"\xe2\x80\"", "\"\xe2\"",
		`"<>&"`, `{"<":">"}`, "{}", "{ }", "[]", "[ ]", "{]", "[}", "[1,]", "[,1]", "[1 2]", `{"a"}`, `{"a":}`, `{"a":1,}`, `{,"a":1}`, `{"a" : 1 , "b" : [ { } ] }`,
		`{"a":1}}`, `[[]`, `{"a":{}`, `{a:1}`, `{"a":1 "b":2}`, `1 2`, `{"a"::1}`, `{1:2}`, `[:]`, `{"a":1]`, "{\"a\":{\n}}", "\v1", `{"a":{}}`, `{"a":{},}`, `{"a":{"b"}}`,
		fields, " " + fields, strings.Replace(fields, "app", "a<p", 1), strings.Replace(fields, "app", "é", 1),
	} {
		checkCompact(t, []byte(s))
	}
	for n := range len(fields) {
		checkCompact(t, []byte(fields[:n]))
		checkCompact(t, []byte(fields[n:]))
		checkCompact(t, []byte(fields[:n]+fields[n+1:]))
		for _, c := range "{}[]\",:\\<\xe9 \x00u0" {
			checkCompact(t, []byte(fields[:n]+string(c)+fields[n:]))
			checkCompact(t, []byte(fields[:n]+string(c)+fields[n+1:]))
		}
	}
}

func TestAppendCompactPrintsRandomValuesLikeEncodingJSON(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for range 5000 {
		b := jsontest.Random(r, 4)
		checkCompact(t, b)
		var indented bytes.Buffer
		if err := stdjson.Indent(&indented, b, " ", "\t"); err != nil {
			t.Fatal(err)
		}
		checkCompact(t, indented.Bytes())
		if len(b) > 0 {
			b[r.IntN(len(b))] = "{}[]\",:\\ 0"[r.IntN(10)]
			checkCompact(t, b)
		}
	}
}

func TestAppendCompactRefusesDeepNesting(t *testing.T) {
	for _, n := range []int{9999, 10000, 10001} {
		checkCompact(t, []byte(strings.Repeat("[", n)+strings.Repeat("]", n)))
		checkCompact(t, []byte(strings.Repeat(`{"a":`, n-1)+"{}"+strings.Repeat("}", n-1)))
		checkCompact(t, []byte(strings.Repeat(`[`, n)))
	}
}
