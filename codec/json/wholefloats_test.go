package json

import "testing"

func TestOnlyWholeNumberFloatsLoseTheirPoint(t *testing.T) {
	for src, want := range map[string]string{
		`8.0`: `8`, `-0.0`: `-0`, `10.0`: `10`, `0.0`: `0`, `8`: `8`, `8.5`: `8.5`, `1.01`: `1.01`, `10`: `10`, `1e-7`: `1e-7`, `1.0e5`: `1.0e5`,
		`{"a.0":"1.0","b":[1.0,2,{"c":-3.0}],"\"2.0":4.0}`: `{"a.0":"1.0","b":[1,2,{"c":-3}],"\"2.0":4}`,
		`[true,null,"x\\",9.0]`:                            `[true,null,"x\\",9]`,
	} {
		if got := string(AppendWithoutPoints([]byte("x"), []byte(src))); got != "x"+want {
			t.Errorf("%s: %s, want x%s", src, got, want)
		}
	}
}
