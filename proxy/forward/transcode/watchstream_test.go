package transcode

import (
	"errors"
	"io"
	"strings"
	"testing"

	fxcbor "github.com/fxamacker/cbor/v2"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"sluice/codec"
	"sluice/proxy/request"
)

func newStream(t *testing.T, in io.ReadCloser, f codec.Format) (s *watchStream, taken func() int64) {
	t.Helper()
	memory, taken := newReservation(1 << 30)
	info := &request.Info{Parsed: request.Parsed{RequestInfo: &apirequest.RequestInfo{APIGroup: "lab.example.com", APIVersion: "v1"}}}
	s, err := newWatchStream(in, &target{format: f, watch: true}, info, memory)
	if err != nil {
		t.Fatal(err)
	}
	return s, taken
}

func TestIdleWatchHoldsNoMemory(t *testing.T) {
	in, out := io.Pipe()
	s, taken := newStream(t, in, codec.Format{Encoding: codec.CBOR})
	go func() {
		_, _ = io.WriteString(out, `{"type":"ADDED","object":{"kind":"Thing","a":"`+strings.Repeat("x", 1<<20)+`"}}`)
	}()
	if err := s.fill(); err != nil || taken() == 0 {
		t.Fatalf("with a large event: %v, %d bytes are taken", err, taken())
	}
	out.Close()
	if err := s.fill(); !errors.Is(err, io.EOF) || s.buf != nil || s.out != nil || taken() != 0 {
		t.Errorf("afterwards: %v, the buffer has %d bytes, %d are taken", err, cap(s.buf), taken())
	}
}

// FuzzWatchStream feeds arbitrary streams to every target: each ends, and what was transcoded is
// well-formed.
func FuzzWatchStream(f *testing.F) {
	const object = `{"apiVersion":"v1","kind":"Thing","metadata":{"annotations":{"k8s.io/initial-events-end":"true"},"resourceVersion":"9"}}`
	for _, s := range []string{
		`{"type":"ADDED","object":` + object + `}{"type":"BOOKMARK","object":` + object + "}\n" + `{"type":"ERROR","object":{"kind":"Status","code":410}}`,
		`{"type":"ADDED","object":{`, `{"type":7,"object":[]}`, `{"object":{"metadata":[]}}`, `{"type":"ERROR","object":null}`, "[[[[", "}",
		`{"type":"ADDED","object":{"kind":"Table"}}`, "{\"\xff\":\"\\ud800\"}",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, stream string) {
		for _, format := range []codec.Format{
			{Encoding: codec.CBOR}, {Encoding: codec.CBOR, Shape: codec.Metadata}, {Shape: codec.Table}, {Encoding: codec.Protobuf, Shape: codec.Metadata},
		} {
			s, _ := newStream(t, io.NopCloser(strings.NewReader(stream)), format)
			out, _ := io.ReadAll(s)
			if format.Encoding != codec.CBOR {
				continue
			}
			for rest := out; len(rest) > 0; {
				var err error
				if rest, err = fxcbor.UnmarshalFirst(rest, &fxcbor.RawMessage{}); err != nil {
					t.Fatalf("%q became %x: %v", stream, out, err)
				}
			}
		}
	})
}
