package cbor

import (
	"bytes"
	"encoding/hex"
	stdjson "encoding/json"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	kjson "sigs.k8s.io/json"

	"sluice/codec/json"
	"sluice/test/support/jsontest"
)

// checkToJSON checks that the apiserver decodes the same value from the CBOR and from its JSON.
func checkToJSON(t *testing.T, src []byte) {
	t.Helper()
	var want any
	wantErr := direct.Unmarshal(src, &want)
	out, err := AppendJSON([]byte("x"), src)
	if wantErr != nil {
		if err == nil || string(out) != "x" || !strings.Contains(err.Error(), wantErr.Error()) || !errors.Is(err, ErrDecode) {
			t.Errorf("%x: %s, %v, want error %v", src, out, err, wantErr)
		}
		return
	}
	if !nameable(want) {
		if !errors.Is(err, ErrDecode) || string(out) != "x" {
			t.Errorf("%x: %s, %v", src, out, err)
		}
		return
	}
	if err != nil || out[0] != 'x' {
		t.Fatalf("%x: %v", src, err)
	}
	var got any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(out[1:], &got); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	if want = text(want); !reflect.DeepEqual(want, got) { // cmp is quadratic in the depth
		t.Errorf("%.200x: %s", src, cmp.Diff(want, got))
	}
}

// text replaces invalid UTF-8 in byte strings, which JSON cannot express.
func text(v any) any {
	switch v := v.(type) {
	case string:
		return strings.Clone(string([]rune(v)))
	case []any:
		for i := range v {
			v[i] = text(v[i])
		}
	case map[string]any:
		for k, e := range v {
			v[k] = text(e)
		}
	}
	return v
}

// nameable reports whether all names are UTF-8.
func nameable(v any) bool {
	switch v := v.(type) {
	case []any:
		return !slices.ContainsFunc(v, func(e any) bool { return !nameable(e) })
	case map[string]any:
		for k, e := range v {
			if !utf8.ValidString(k) || !nameable(e) {
				return false
			}
		}
	}
	return true
}

func TestAppendJSONHasTheMeaningOfTheCBOR(t *testing.T) {
	for _, h := range []string{
		// RFC 8949, appendix A
		"00", "17", "1818", "1903e8", "1b000000e8d4a51000", "1b7fffffffffffffff", "1b8000000000000000", "1bffffffffffffffff", "3bffffffffffffffff", "3b7fffffffffffffff", "20", "3903e7", "c249010000000000000000", "c349010000000000000000",
		"f90000", "f98000", "f93c00", "fb3ff199999999999a", "f97bff", "fa47c35000", "fa7f7fffff", "fb7e37e43c8800759c", "f90001", "f90400", "f9c400", "fbc010666666666666", "f97c00", "f97e00", "f9fc00", "fa7f800000", "fb7ff8000000000000", "faff800000",
		"f4", "f5", "f6", "f7", "f0", "f8ff", "f818", "f820", "e0",
		"c074323031332d30332d32315432303a30343a30305a", "c11a514b67b0", "c1fb41d452d9ec200000", "c06161", "c1f97e00", "d74401020304", "d64401020304", "d54401020304", "d818456449455446", "d82076687474703a2f2f7777772e6578616d706c652e636f6d",
		"40", "4401020304", "60", "6161", "62c3bc", "64f0908591", "62225c", "80", "83010203", "8301820203820405", "98190102030405060708090a0b0c0d0e0f101112131415161718181819", "a0", "a201020304", "a26161016162820203", "826161a161626163",
		"5f42010243030405ff", "7f657374726561646d696e67ff", "9fff", "9f018202039f0405ffff", "83018202039f0405ff", "bf61610161629f0203ffff", "bf6346756ef563416d7421ff",
		// hostile and odd
		"", "ff", "d9d9f7", "d9d9f7a0", "d9d9f7d9d9f7a0", "a0a0", "a0ff", "a2416101416102", "a2616101416102", "a1f601", "a1f501", "a18001", "61ff", "62c328", "7f61c361a9ff", "5f6161ff", "9b7fffffffffffffff", "bb7fffffffffffffff", "9a7fffffff00", "5b7fffffffffffffff", "1c", "1f", "3f", "df00", "a1", "a161", "a16161", "81", "9f", "bf6161ff", "d6", "d64", "c0", "d664", "d66161", "d65f42010243030405ff", "a1d6414100", "d9d9f7f6", "f93e00", "c24100",
		"a16161fb3ff0000000000000", "a16161f98000", "d95301f6", "c100", "c13903e7", "c0f6", "c1f6", "d6f6",
	} {
		b, err := hex.DecodeString(h)
		if err != nil {
			continue
		}
		checkToJSON(t, b)
	}
}

func TestAppendJSONReversesAppendFromJSON(t *testing.T) {
	for _, f := range append(jsontest.Corpus(t), jsontest.Realistic()...) {
		item, err := AppendFromJSON([]byte(SelfDescribed), f.JSON)
		if err != nil {
			t.Fatal(err)
		}
		checkToJSON(t, item)
	}
	r := rand.New(rand.NewPCG(7, 8))
	for range 5000 {
		item, err := AppendFromJSON(nil, jsontest.Random(r, 5))
		if err != nil {
			t.Fatal(err)
		}
		checkToJSON(t, item)
		item[r.IntN(len(item))] = byte(r.IntN(256))
		checkToJSON(t, item)
		checkToJSON(t, item[:r.IntN(len(item))])
	}
}

func TestAppendJSONRefusesDeepNesting(t *testing.T) {
	nested := func(n int) []byte { return append(bytes.Repeat([]byte{0x81}, n), 0xf6) }
	checkToJSON(t, nested(json.MaxDepth-1))
	checkToJSON(t, nested(json.MaxDepth+1))
	checkToJSON(t, bytes.Repeat([]byte{0x81}, 1<<20))
	checkToJSON(t, bytes.Repeat([]byte{0xd9, 0xd9, 0xf7}, 1<<18))
	checkToJSON(t, bytes.Repeat([]byte{0x9f}, 1<<20))
}

func TestAppendJSONSortsMembers(t *testing.T) {
	got, err := AppendJSON(nil, []byte("\xa3\x41b\x01\x41a\xf9\x3c\x00\x41<\x81\xf6"))
	if want := `{"\u003c":[null],"a":1.0,"b":1}`; err != nil || string(got) != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
}

func FuzzAppendJSON(f *testing.F) {
	for _, s := range []string{"\xd9\xd9\xf7\xa1\x41a\x01", "\xbf\x61a\x9f\x01\xff\xff", "\xd6\x42ab", "\xc1\x1a\x51\x4b\x67\xb0", "\x9b\x7f\xff\xff\xff\xff\xff\xff\xff", "\xa2\x41a\x01\x41a\x02"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		checkToJSON(t, src)
		if out, err := AppendJSON(nil, src); err == nil && !stdjson.Valid(out) {
			t.Errorf("%x: %s", src, out)
		}
	})
}
