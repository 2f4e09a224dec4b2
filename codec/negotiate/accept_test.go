package negotiate

import (
	"strings"
	"testing"

	"sluice/codec"
)

func TestLongAcceptIsNotParsed(t *testing.T) {
	r := Request{Accept: "application/json," + strings.Repeat("a/b;q=0.1,", 90_000) + "*/*"}
	if n := testing.AllocsPerRun(3, func() {
		if _, ok := Format(r, Endpoint{Verb: List, Style: codec.Typed}); ok || r.Accepts(codec.JSON) {
			t.Error("accepted")
		}
		if f := ErrorFormat(r, true); f.Encoding != codec.JSON {
			t.Errorf("errors are written in %v", f)
		}
	}); n > 10 {
		t.Errorf("%v allocations", n)
	}
	r.Accept = strings.Repeat("a/b,", 2000) + "application/json"
	if !r.Accepts(codec.JSON) {
		t.Error("a header below the limit is not accepted")
	}
}
