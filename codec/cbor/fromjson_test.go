package cbor

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	kjson "sigs.k8s.io/json"

	"sluice/codec/json"
	"sluice/test/support/jsontest"
)

// encode is the oracle: it decodes JSON and encodes CBOR in the way of the apiserver.
func encode(src []byte) ([]byte, error) {
	var v any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(src, &v); err != nil {
		return nil, err
	}
	return direct.Marshal(v)
}

// sorted decodes and encodes an item in the way of the apiserver, which sorts its members.
func sorted(t testing.TB, item []byte) []byte {
	t.Helper()
	var v any
	if err := direct.Unmarshal(item, &v); err != nil {
		t.Fatalf("%x: %v", item, err)
	}
	out, err := direct.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func checkFromJSON(t *testing.T, src []byte) {
	t.Helper()
	want, wantErr := encode(src)
	got, err := AppendFromJSON([]byte("x"), src)
	if wantErr != nil {
		if err == nil {
			t.Errorf("%q: %x, want error %v", src, got, wantErr)
		}
		return
	}
	if err != nil || got[0] != 'x' {
		t.Errorf("%q: %v", src, err)
		return
	}
	// Only the order of members may differ.
	got = got[1:]
	if again := sorted(t, got); !bytes.Equal(again, want) || len(got) != len(want) {
		t.Errorf("%q: %x, want %x", src, got, want)
	}
}

func TestAppendFromJSONOfEveryKindEqualsApimachinery(t *testing.T) {
	for _, f := range append(jsontest.Corpus(t), jsontest.Realistic()...) {
		checkFromJSON(t, f.JSON)
		var indented bytes.Buffer
		if err := stdjson.Indent(&indented, f.JSON, "", "\t"); err != nil {
			t.Fatal(err)
		}
		checkFromJSON(t, indented.Bytes())
	}
}

func TestAppendFromJSONOfRandomValuesEqualsApimachinery(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		checkFromJSON(t, jsontest.Random(r, 5))
	}
	for _, s := range jsontest.Strings {
		checkFromJSON(t, json.AppendString(nil, s))
	}
	for _, n := range append(jsontest.Numbers, jsontest.BigNumbers...) {
		checkFromJSON(t, []byte(n))
	}
}

func TestAppendFromJSONWritesHeadsOfEveryLength(t *testing.T) {
	for _, n := range []int{0, 1, 22, 23, 24, 25, 255, 256, 257, 65535, 65536, 70000} {
		list := "[" + strings.TrimSuffix(strings.Repeat("1,", n), ",") + "]"
		checkFromJSON(t, []byte(list))
		checkFromJSON(t, []byte(`{"a":`+list+`,"b":[`+list+`,"`+strings.Repeat("s", n)+`"]}`))
		var sorted, unsorted []string
		for i := range n {
			sorted = append(sorted, fmt.Sprintf(`"%06d":[%d]`, i, i))
			unsorted = append(unsorted, fmt.Sprintf(`"%06d":[%d]`, i*7919%1000003, i))
		}
		checkFromJSON(t, []byte("{"+strings.Join(sorted, ",")+"}"))
		checkFromJSON(t, []byte("{"+strings.Join(unsorted, ",")+"}"))
	}
	// Long lists in long lists in long lists.
	deep := "0"
	for range 40 {
		deep = "[" + strings.Repeat("1,", 30) + deep + strings.Repeat(",2", 300) + "]"
	}
	checkFromJSON(t, []byte(deep))
}

func TestAppendFromJSONKeepsTheLastDuplicate(t *testing.T) {
	for _, src := range []string{
		`{"a":1,"a":2}`, `{"a":1,"b":2,"a":3}`, `{"b":1,"a":{"x":[1,2],"x":{"y":1,"y":2}},"b":[]}`, `{"a":1,"\u0061":2}`, `{"":1,"":2}`,
		`{"a":{"b":1},"a":{"c":2}}`, `[{"z":1,"y":2,"x":3,"w":4,"z":1.0,"f":1e400}]`, `{"a":1,"a":1.50,"a":-0.0,"a":12345678901234567890}`,
	} {
		checkFromJSON(t, []byte(src))
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range 3000 {
		var b strings.Builder
		for range 1 + r.IntN(40) {
			fmt.Fprintf(&b, `,"%s":%d`, strings.Repeat(string(rune('a'+r.IntN(26))), 1+r.IntN(3)), r.IntN(9))
		}
		checkFromJSON(t, []byte("{"+b.String()[1:]+"}"))
	}
}

func TestAppendFromJSONErrors(t *testing.T) {
	nested := strings.Repeat(`{"a":[`, json.MaxDepth/2) + strings.Repeat("]}", json.MaxDepth/2)
	checkFromJSON(t, []byte(nested))
	for in, want := range map[string]error{
		"": json.ErrSyntax, " ": json.ErrSyntax, "{": json.ErrSyntax, "[": json.ErrSyntax, "[1": json.ErrSyntax, "[1,": json.ErrSyntax, "[1,]": json.ErrSyntax, `{"a"`: json.ErrSyntax, `{"a":`: json.ErrSyntax, `{"a":1`: json.ErrSyntax, `{"a":1,`: json.ErrSyntax, `{"a":1,}`: json.ErrSyntax, `{a:1}`: json.ErrSyntax,
		"tru": json.ErrSyntax, "nulL": json.ErrSyntax, "-": json.ErrSyntax, `"a`: json.ErrSyntax, "1 2": json.ErrSyntax, "[] x": json.ErrSyntax, "1e": json.ErrSyntax, "1.e.": json.ErrSyntax, "x": json.ErrSyntax, "\x00": json.ErrSyntax,
		"1e999": ErrNumber, "-1e999": ErrNumber, `[1,{"a":1e309}]`: ErrNumber, `{"a":1,"a":[1e309]}`: ErrNumber,
		"[" + nested + "]": json.ErrDepth, strings.Repeat("[", 1<<20): json.ErrDepth,
	} {
		if got, err := AppendFromJSON([]byte("x"), []byte(in)); !errors.Is(err, want) || string(got) != "x" {
			t.Errorf("%.40q: %.40x, %v, want %v", in, got, err, want)
		}
	}
}

func TestAppendFloatEqualsApimachinery(t *testing.T) {
	check := func(f float64) {
		t.Helper()
		want, err := direct.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		if got := AppendFloat(nil, f); !bytes.Equal(got, want) {
			t.Errorf("%v: %x, want %x", f, got, want)
		}
	}
	for h := range uint32(1 << 16) {
		exponent, fraction := h>>10&31, h&1023
		if exponent == 31 {
			continue
		}
		f := math.Ldexp(float64(fraction|1024), int(exponent)-25)
		if exponent == 0 {
			f = math.Ldexp(float64(fraction), -24)
		}
		check(math.Copysign(f, float64(1-int(h>>15)*2)))
		check(f * (1 + 1.0/2048))
		check(f * (1 + math.Ldexp(1, -30)))
	}
	r := rand.New(rand.NewPCG(5, 6))
	for range 100000 {
		if f := math.Float64frombits(r.Uint64()); !math.IsNaN(f) && !math.IsInf(f, 0) {
			check(f)
		}
		if f := math.Float32frombits(r.Uint32()); !math.IsNaN(float64(f)) && !math.IsInf(float64(f), 0) {
			check(float64(f))
		}
	}
	for _, f := range []float64{0, math.Copysign(0, -1), 65504, 65505, 65520, 65536, math.MaxFloat32, math.MaxFloat64, math.SmallestNonzeroFloat32, math.SmallestNonzeroFloat64} {
		check(f)
		check(-f)
	}
}

func TestHeads(t *testing.T) {
	for _, n := range []int64{0, 1, 23, 24, 255, 256, 65535, 65536, 1<<32 - 1, 1 << 32, math.MaxInt64, -1, -24, -25, -256, -257, -1 << 32, math.MinInt64} {
		want, err := direct.Marshal(n)
		if err != nil {
			t.Fatal(err)
		}
		if got := AppendInt(nil, n); !bytes.Equal(got, want) {
			t.Errorf("%d: %x, want %x", n, got, want)
		}
		if n >= 0 && headSize(uint64(n)) != len(want) {
			t.Errorf("headSize(%d) = %d", n, headSize(uint64(n)))
		}
	}
	want, _ := direct.Marshal([]byte("\x00abc"))
	if got := AppendBase64(nil, []byte("\x00abc")); !bytes.Equal(got, want) {
		t.Errorf("%x, want %x", got, want)
	}
}

func TestListsAndEventsDecode(t *testing.T) {
	item := []byte(`{"metadata":{"name":"a"}}`)
	list, err := AppendListHead(nil, "v1", "PodList", []byte(`{"resourceVersion":"7","remainingItemCount":3}`), 2)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		list, _ = AppendFromJSON(list, item)
	}
	checkItem(t, list, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7","remainingItemCount":3},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"a"}}]}`)
	none, _ := AppendListHead(nil, "v1", "PodList", []byte(`{}`), -1)
	checkItem(t, none, `{"kind":"PodList","apiVersion":"v1","metadata":{},"items":null}`)
	event, _ := AppendFromJSON(AppendEventHead(nil, "ADDED"), item)
	checkItem(t, event, `{"type":"ADDED","object":{"metadata":{"name":"a"}}}`)
	if !bytes.Contains(event[3:], []byte(SelfDescribed)) {
		t.Error("the object of the event has no tag")
	}
	if got, err := AppendListHead([]byte("x"), "v1", "PodList", []byte(`{`), 1); err == nil || string(got) != "x" {
		t.Errorf("%x, %v", got, err)
	}
}

func checkItem(t *testing.T, item []byte, want string) {
	t.Helper()
	if !bytes.HasPrefix(item, []byte(SelfDescribed)) {
		t.Errorf("%x has no tag", item)
	}
	var got, wanted any
	if err := direct.Unmarshal(item, &got); err != nil {
		t.Fatalf("%x: %v", item, err)
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts([]byte(want), &wanted); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Error(diff)
	}
}

func FuzzAppendFromJSON(f *testing.F) {
	for _, s := range []string{`{"a":[1,-2.5,"x\n",null,true,{}],"b":1e3}`, `{"a":1,"a":2}`, `"\ud800"`, "\"\xff\"", `[[[]]]`, `18446744073709551615`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		want, wantErr := encode(src)
		got, err := AppendFromJSON(nil, src)
		if wantErr == nil && err != nil || wantErr != nil && err == nil && json.Valid(src, json.Limits{AllowInvalidUTF8: true}) == nil {
			t.Fatalf("%v, want %v", err, wantErr)
		}
		if wantErr == nil && !bytes.Equal(sorted(t, got), want) {
			t.Fatalf("%x, want %x", got, want)
		}
	})
}
