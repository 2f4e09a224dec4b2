package cbor

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"

	"sluice/codec/json"
)

func TestAppendFromJSONKeepsTheTypesOfNumbersAndTheLastDuplicate(t *testing.T) {
	got, err := AppendFromJSON(nil, []byte(`{"b":[1,-1,1.0,1e3,18446744073709551615,null,true],"a":1,"\u0061":"x\n"}`))
	if want := "\xa2\x41a\x42x\n\x41b\x87\x01\x20\xf9\x3c\x00\xf9\x63\xd0\xfa\x5f\x80\x00\x00\xf6\xf5"; err != nil || string(got) != want {
		t.Errorf("%x, %v, want %x", got, err, want)
	}
}

func TestAppendFromJSONErrors(t *testing.T) {
	nested := strings.Repeat(`{"a":[`, json.MaxDepth/2) + strings.Repeat("]}", json.MaxDepth/2)
	if _, err := AppendFromJSON(nil, []byte(nested)); err != nil {
		t.Error(err)
	}
	for _, in := range []string{"", "{", "[1,]", `{a:1}`, `"a`, "1 2", "1e999", `{"a":1,"a":[1e309]}`, "[" + nested + "]", strings.Repeat("[", 1<<20)} {
		if got, err := AppendFromJSON([]byte("x"), []byte(in)); !errors.Is(err, json.ErrSyntax) || string(got) != "x" {
			t.Errorf("%.40q: %.40x, %v", in, got, err)
		}
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
	}
	want, _ := direct.Marshal([]byte("\x00abc"))
	if got := AppendBase64(nil, []byte("\x00abc")); !bytes.Equal(got, want) {
		t.Errorf("%x, want %x", got, want)
	}
}
