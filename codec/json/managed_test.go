package json

import (
	stdjson "encoding/json"
	"errors"
	"reflect"
	"testing"
)

func TestAppendWithoutManagedFieldsKeepsEveryOtherByte(t *testing.T) {
	for src, want := range map[string]string{
		`{}`:                                `{}`,
		`{"spec":{"managedFields":[1]}}`:    `{"spec":{"managedFields":[1]}}`,
		`{"metadata":{}}`:                   `{"metadata":{}}`,
		`{"metadata":null,"a":1}`:           `{"metadata":null,"a":1}`,
		`{"metadata":{"managedFields":[]}}`: `{"metadata":{}}`,
		`{"metadata":{"managedFields":[{"a":"}],"}],"name":"n"}}`:               `{"metadata":{"name":"n"}}`,
		`{"metadata":{"name":"n","managedFields":[1,{}]},"x":1}`:                `{"metadata":{"name":"n"},"x":1}`,
		`{"metadata":{"labels":{"managedFields":"x"},"managedFields":null}}`:    `{"metadata":{"labels":{"managedFields":"x"}}}`,
		`{"k":1,"metadata":{"a":1,"managedFields":[],"z":2},"managedFields":1}`: `{"k":1,"metadata":{"a":1,"z":2},"managedFields":1}`,
		`{"metadata":{"managed\u0046ields":[1],"name":"n"}}`:                    `{"metadata":{"name":"n"}}`,
		"{ \"metadata\" : { \"name\" : 1 , \"managedFields\" : [ ] } }":         `{ "metadata" : { "name" : 1} }`,
	} {
		got, err := AppendWithoutManagedFields([]byte("x"), []byte(src))
		if err != nil || string(got) != "x"+want {
			t.Errorf("%s: %s, %v, want %s", src, got, err, want)
		}
	}
}

func TestAppendWithoutManagedFieldsRefusesMalformedObjects(t *testing.T) {
	for src, want := range map[string]error{
		`[]`: ErrNotObject, ``: ErrNotObject, `{"a":`: ErrSyntax, `{"metadata":{"a":1`: ErrSyntax, `{"metadata":{"a"}}`: ErrSyntax,
	} {
		if got, err := AppendWithoutManagedFields([]byte("x"), []byte(src)); !errors.Is(err, want) || string(got) != "x" {
			t.Errorf("%s: %s, %v, want %v", src, got, err, want)
		}
	}
}

// FuzzAppendWithoutManagedFields compares with deleting managedFields from the decoded object.
func FuzzAppendWithoutManagedFields(f *testing.F) {
	f.Add([]byte(`{"metadata":{"name":"n","managedFields":[{"manager":"m"}]},"spec":{}}`))
	f.Add([]byte(`{"a":{"managedFields":1},"metadata":{"managedFields":{},"b":"\"}"}}`))
	f.Fuzz(func(t *testing.T, src []byte) {
		var want map[string]any
		if Valid(src, 0) != nil || stdjson.Unmarshal(src, &want) != nil || want == nil {
			return
		}
		if repeated(src) {
			return // no rule says which duplicate counts
		}
		if metadata, ok := want["metadata"].(map[string]any); ok {
			delete(metadata, "managedFields")
		}
		out, err := AppendWithoutManagedFields(nil, src)
		if err != nil {
			t.Fatalf("%s: %v", src, err)
		}
		var got map[string]any
		if err := stdjson.Unmarshal(out, &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: %s, %v", src, out, err)
		}
	})
}

// repeated reports whether an object has metadata or managedFields twice.
func repeated(obj []byte) bool {
	n := 0
	for name, v := range Value(obj).Members {
		if string(name) != "metadata" {
			continue
		}
		n++
		m := 0
		for in := range v.Members {
			if string(in) == "managedFields" {
				m++
			}
		}
		if m > 1 {
			return true
		}
	}
	return n > 1
}
