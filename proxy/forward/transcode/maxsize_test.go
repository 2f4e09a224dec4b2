package transcode

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"sluice/codec"
)

// TestMaxSizeIsAnUpperBound transcodes random objects and lists to every format.
func TestMaxSizeIsAnUpperBound(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	texts := []string{"a", " ", "  ", `\n`, `\"`, `\u0001`, "'", "\x7f", "\u00e9", "\ufeff", "\xff", ":", "- ", "#", "word ", "0", `\ud83d\ude00`}
	text := func() string {
		var s strings.Builder
		for range random.IntN(1 << random.IntN(9)) {
			s.WriteString(texts[random.IntN(len(texts))])
		}
		return `"` + s.String() + `"`
	}
	var value func(depth int) string
	value = func(depth int) string {
		kind := random.IntN(8)
		if depth == 0 {
			kind += 2
		}
		switch kind {
		case 0, 1:
			var all []string
			for i := range random.IntN(5) {
				if kind == 0 {
					all = append(all, value(depth-1))
				} else {
					all = append(all, fmt.Sprintf(`"%d%s:%s`, i, text()[1:], value(depth-1)))
				}
			}
			return [2]string{"[", "{"}[kind] + strings.Join(all, ",") + [2]string{"]", "}"}[kind]
		case 2:
			return "1e5"
		case 3:
			return "0.1"
		case 4:
			return "null"
		}
		return text()
	}
	for range 3000 {
		object := `{"apiVersion":"v1","kind":"Thing","metadata":{"name":"a","annotations":{"a":` + text() + `}},"spec":` + value(1+random.IntN(40)) + `}`
		list := `{"apiVersion":"v1","kind":"ThingList","items":[{},{},` + object + `]}`
		for _, f := range []codec.Format{{Encoding: codec.YAML}, {Encoding: codec.CBOR}, {Shape: codec.Table, Pretty: true}, {Shape: codec.Table, Include: codec.IncludeObject},
			{Shape: codec.Table, Encoding: codec.YAML}, {Shape: codec.Metadata, Encoding: codec.YAML}, {Shape: codec.Metadata, Encoding: codec.Protobuf}, {Shape: codec.Metadata, Encoding: codec.CBOR}} {
			for _, src := range []string{object, list} {
				to := &target{format: f}
				out, err := to.appendObject(nil, []byte(src), f)
				if bound := to.maxSize([]byte(src), f); err == nil && int64(len(out)) > bound {
					t.Fatalf("%+v: bound is %d, size %d of %q", f, bound, len(out), src)
				}
			}
		}
	}
}
