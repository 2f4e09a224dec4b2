package transcode

import (
	"strings"
	"testing"

	"sluice/codec"
)

// In each of these objects most bytes of the output come from one rule of maxSize.
func TestMaxSizeIsAnUpperBound(t *testing.T) {
	values := map[string]string{"levels": strings.Repeat("[", 60) + "1" + strings.Repeat("]", 60)}
	for _, item := range []string{"1", "1e5", "0.1", "null", "{}", "[[[1]]]", `{"a":1}`, `""`} {
		values["items "+item] = "[" + strings.Repeat(item+",", 500) + item + "]"
	}
	for _, text := range []string{
		"a", "a ", "aaaaaaaaa  ", `\n`, `\"`, `\\`, `\u0001`, "'", "\x7f", "\u00e9", "\ufeff", "\xff", ":", "- ", "#", `\ud83d\ude00`, `a \u0001`,
	} {
		values["text "+text] = `"` + strings.Repeat(text, 500) + `"`
		values["texts "+text] = "[" + strings.Repeat(`"`+text+`",`, 500) + `""]`
		values["key "+text] = `{"` + strings.Repeat(text, 500) + `":1}`
	}
	formats := []codec.Format{
		{Encoding: codec.YAML}, {Encoding: codec.CBOR}, {Shape: codec.Table, Pretty: true},
		{Shape: codec.Table, Include: codec.IncludeObject}, {Shape: codec.Table, Include: codec.IncludeObject, Pretty: true},
		{Shape: codec.Table, Encoding: codec.YAML}, {Shape: codec.Metadata, Encoding: codec.YAML},
		{Shape: codec.Metadata, Encoding: codec.Protobuf}, {Shape: codec.Metadata, Encoding: codec.CBOR},
	}
	written := map[codec.Format]int{}
	for name, value := range values {
		for _, depth := range []int{0, 50} {
			nested := strings.Repeat(`{"a":`, depth) + value + strings.Repeat("}", depth)
			object := `{"apiVersion":"v1","kind":"Thing","metadata":{"name":"a","annotations":{"a":` + value + `}},"spec":` + nested + `}`
			list := `{"apiVersion":"v1","kind":"ThingList","items":[{},` + object + `]}`
			for _, f := range formats {
				for _, src := range []string{object, list} {
					to := &target{format: f}
					out, err := to.appendObject(nil, []byte(src), f)
					if err == nil {
						written[f]++
					}
					if bound := to.maxSize([]byte(src), f); err == nil && int64(len(out)) > bound {
						t.Errorf("%s, at depth %d, in %+v: bound is %d, size %d", name, depth, f, bound, len(out))
					}
				}
			}
		}
	}
	for _, f := range formats {
		if written[f] < 20 {
			t.Errorf("only %d objects are written in %+v", written[f], f)
		}
	}
}
