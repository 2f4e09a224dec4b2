package proto

import (
	"errors"
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// rare has field types that the compiler supports and no kind of this release uses.
type rare struct {
	Wait   metav1.Duration  `json:"wait" protobuf:"bytes,1,opt,name=wait"`
	Count  uint32           `json:"count" protobuf:"varint,2,opt,name=count"`
	Total  uint64           `json:"total,omitempty" protobuf:"varint,3,opt,name=total"`
	Ratios []float64        `json:"ratios" protobuf:"fixed64,4,rep,name=ratios"`
	Sizes  map[string]int64 `json:"sizes,omitempty" protobuf:"bytes,5,rep,name=sizes"`
	Flags  []bool           `json:"flags,omitempty" protobuf:"varint,6,rep,name=flags"`
	Hidden string           `json:"-" protobuf:"bytes,7,opt,name=hidden"`
	Local  string           `json:"local"`
}

func TestTypesThatNoKindHasEncode(t *testing.T) {
	p, err := compiler{}.compile(reflect.TypeFor[rare]())
	if err != nil {
		t.Fatal(err)
	}
	m := &Schema{plan: p}
	for in, want := range map[string]string{
		"": `{"wait":"0s","count":0,"ratios":null,"local":""}`,
		"\x0a\x06\x08\x80\xa8\xd6\xb9\x07\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01": `{"wait":"2s","count":4294967295,"ratios":null,"local":""}`,
		"\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01":                                 `{"wait":"0s","count":0,"total":18446744073709551615,"ratios":null,"local":""}`,
		"\x21\x00\x00\x00\x00\x00\x00\xf8\x3f\x21\x00\x00\x00\x00\x00\x00\xf8\xbf":     `{"wait":"0s","count":0,"ratios":[1.5,-1.5],"local":""}`,
		"\x2a\x03\x0a\x01a\x2a\x05\x0a\x01b\x10\x09":                                   `{"wait":"0s","count":0,"ratios":null,"sizes":{"a":0,"b":9},"local":""}`,
		"\x30\x01\x30\x00\x30\x02":                                                     `{"wait":"0s","count":0,"ratios":null,"flags":[true,false,true],"local":""}`,
		"\x3a\x01x":                                                                    `{"wait":"0s","count":0,"ratios":null,"local":""}`,
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
		"\x21\x00\x00\x00\x00\x00\x00\xf8\x7f":       ErrValue, // NaN
		"\x21\x00\x00\x00\x00\x00\x00\xf0\x7f":       ErrValue, // infinite
		"\x22\x08\x00\x00\x00\x00\x00\x00\xf8\x3f":   ErrForm,  // packed
		"\x32\x02\x01\x00":                           ErrForm,
		"\x2a\x05\x0a\x01b\x10\x07\x2a\x03\x0a\x01a": ErrForm, // the keys descend
		"\x2a\x03\x0a\x01a\x2a\x03\x0a\x01a":         ErrForm, // a key twice
		"\x0a\x02\x08\x01\x0a\x02\x08\x01":           ErrForm, // a message in two parts
		"\x0a\x02\x10\x00":                           ErrUnknownField,
		"\x0a\x02\x0a\x00":                           ErrWireType,
		"\x12\x01\x00":                               ErrWireType, // packed, but not repeated
		"\x2a\x04\x0a\x00\x12\x00":                   ErrWireType,
		"\x21\x00\x00":                               ErrTruncated,
	} {
		for walk, f := range walks(m) {
			if err := f([]byte(in)); !errors.Is(err, want) {
				t.Errorf("%q, %s: %v, want %v", in, walk, err, want)
			}
		}
	}
}

func TestTheCompilerRejectsUnsupportedTypes(t *testing.T) {
	for name, typ := range map[string]reflect.Type{
		"prints itself": reflect.TypeFor[struct {
			V metav1.GroupVersion `json:"v" protobuf:"bytes,1,opt,name=v"`
		}](),
		"number in a string": reflect.TypeFor[struct {
			V int64 `json:"v,string" protobuf:"varint,1,opt,name=v"`
		}](),
		"same number twice": reflect.TypeFor[struct {
			A string `json:"a" protobuf:"bytes,1,opt,name=a"`
			B string `json:"b" protobuf:"bytes,1,opt,name=b"`
		}](),
		"same name twice": reflect.TypeFor[struct {
			A        string `json:"inner" protobuf:"bytes,1,opt,name=a"`
			Embedded `json:",inline" protobuf:"bytes,2,opt,name=b"`
		}](),
		"map by number": reflect.TypeFor[struct {
			A map[int32]string `json:"a" protobuf:"bytes,1,rep,name=a"`
		}](),
		"slice of slices": reflect.TypeFor[struct {
			A [][]string `json:"a" protobuf:"bytes,1,rep,name=a"`
		}](),
		"bad tag": reflect.TypeFor[struct {
			A string `json:"a" protobuf:"bytes"`
		}](),
		"large number": reflect.TypeFor[struct {
			A string `json:"a" protobuf:"bytes,5000,opt,name=a"`
		}](),
		"no struct": reflect.TypeFor[string](),
	} {
		if _, err := (compiler{}).compile(typ); !errors.Is(err, errSchema) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Embedded has a member with the same name as a member of its parent.
type Embedded struct {
	Inner string `json:"inner" protobuf:"bytes,1,opt,name=inner"`
}
