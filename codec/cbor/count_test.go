package cbor

import (
	"errors"
	"strings"
	"testing"

	"sluice/codec/json"
)

func TestCountItemsCountsNestedItems(t *testing.T) {
	for src, want := range map[string]int{
		"": 0, "\x01": 1, "\xa1\x41a\x01": 3, "\x82\xa0\x80": 3, "\x9f\x01\x02\xff": 4, "\x5f\x41a\x41b\xff": 4,
		"\xd9\xd9\xf7\x81\x19\x01\x02": 3, "\x58\x03abc\x00": 2, "\xfb12345678\x00": 2,
		"\x5a\xff": 0, "\x00\x45abc": 1, "\x5b\xff\xff\xff\xff\xff\xff\xff\xff": 0,
		strings.Repeat("\x00", 100): 11,
	} {
		if got := CountItems([]byte(src), 10); got != want {
			t.Errorf("%q: %d, want %d", src, got, want)
		}
	}
}

func TestAppendJSONBoundsItsOutput(t *testing.T) {
	src := "\x98\x64" + strings.Repeat("\x41\x01", 100) // two bytes become nine
	if _, err := AppendJSON(nil, []byte(src), 500); !errors.Is(err, json.ErrSize) {
		t.Errorf("error is %v", err)
	}
	if _, err := AppendJSON([]byte("before"), []byte(src), 1000); err != nil {
		t.Error(err)
	}
}
