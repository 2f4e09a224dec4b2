package proto

import (
	"errors"
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// rare has field types that the compiler supports and no kind of this release uses.
type rare struct {
	Wait   metav1.Time       `json:"wait" protobuf:"bytes,1,opt,name=wait"`
	Count  int32             `json:"count" protobuf:"varint,2,opt,name=count"`
	Total  int64             `json:"total,omitempty" protobuf:"varint,3,opt,name=total"`
	Ratios []float64         `json:"ratios" protobuf:"fixed64,4,rep,name=ratios"`
	Sizes  map[string]string `json:"sizes,omitempty" protobuf:"bytes,5,rep,name=sizes"`
	Flags  []bool            `json:"flags,omitempty" protobuf:"varint,6,rep,name=flags"`
	Hidden string            `json:"-" protobuf:"bytes,7,opt,name=hidden"`
	Local  string            `json:"local"`
}

func TestTypesThatNoKindHasEncode(t *testing.T) {
	p, err := compiler{}.compile(reflect.TypeFor[rare]())
	if err != nil {
		t.Fatal(err)
	}
	m := &Schema{plan: p}
	for in, want := range map[string]string{
		"": `{"wait":null,"count":0,"ratios":null,"local":""}`,
		"\x0a\x02\x08\x02\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01":             `{"wait":"1970-01-01T00:00:02Z","count":-1,"ratios":null,"local":""}`,
		"\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01":                             `{"wait":null,"count":0,"total":-1,"ratios":null,"local":""}`,
		"\x21\x00\x00\x00\x00\x00\x00\xf8\x3f\x21\x00\x00\x00\x00\x00\x00\xf8\xbf": `{"wait":null,"count":0,"ratios":[1.5,-1.5],"local":""}`,
		"\x2a\x03\x0a\x01a\x2a\x06\x0a\x01b\x12\x01c":                              `{"wait":null,"count":0,"ratios":null,"sizes":{"a":"","b":"c"},"local":""}`,
		"\x30\x01\x30\x00\x30\x02":                                                 `{"wait":null,"count":0,"ratios":null,"flags":[true,false,true],"local":""}`,
		"\x3a\x01x":                                                                `{"wait":null,"count":0,"ratios":null,"local":""}`,
	} {
		got, err := m.AppendJSONItem(nil, []byte(in))
		if err != nil || string(got) != want {
			t.Errorf("%q: %s, %v, want %s", in, got, err, want)
		}
		if err := m.Check([]byte(in)); err != nil {
			t.Errorf("%q: %v", in, err)
		}
		if b, err := m.AppendCBORItem(nil, []byte(in)); err != nil || plainCBOR.Wellformed(b) != nil {
			t.Errorf("%q: %x, %v", in, b, err)
		}
	}
	for in, want := range map[string]error{
		"\x21\x00\x00\x00\x00\x00\x00\xf8\x7f":     ErrValue, // NaN
		"\x21\x00\x00\x00\x00\x00\x00\xf0\x7f":     ErrValue, // infinite
		"\x22\x08\x00\x00\x00\x00\x00\x00\xf8\x3f": ErrForm,  // packed
		"\x32\x02\x01\x00":                         ErrForm,
		"\x2a\x03\x0a\x01b\x2a\x03\x0a\x01a":       ErrForm, // the keys descend
		"\x2a\x03\x0a\x01a\x2a\x03\x0a\x01a":       ErrForm, // a key twice
		"\x0a\x02\x18\x00":                         ErrUnknownField,
		"\x0a\x02\x0a\x00":                         ErrWireType,
		"\x12\x01\x00":                             ErrWireType, // packed, but not repeated
		"\x2a\x04\x0a\x00\x10\x00":                 ErrWireType,
		"\x21\x00\x00":                             ErrTruncated,
	} {
		for walk, f := range walks(m) {
			if err := f([]byte(in)); !errors.Is(err, want) {
				t.Errorf("%q, %s: %v, want %v", in, walk, err, want)
			}
		}
	}
}
