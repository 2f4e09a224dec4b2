package conformance

import (
	"net/http"
	"testing"
)

func TestNormalizedCBORIgnoresOnlyOrderOfMapsAndVersionsOfLists(t *testing.T) {
	const self = "\xd9\xd9\xf7" // the tag of CBOR
	at := func(kind, version string) string {
		return self + "\xa3\x44kind" + byteString(kind) + "\x48metadata\xa1\x4fresourceVersion" + byteString(version) + "\x4aapiVersion\x42v1"
	}
	normalized := func(body string) string {
		return string(normalize([]byte(body), http.Header{"Content-Type": {"application/cbor"}}, false))
	}
	for name, row := range map[string]struct {
		a, b  string
		equal bool
	}{
		"order of entries":     {self + "\xa1\x41a\x81\xa2\x41a\x01\x41b\x02", self + "\xa1\x41a\x81\xa2\x41b\x02\x41a\x01", true},
		"order of elements":    {"\x82\x01\x02", "\x82\x02\x01", false},
		"tag":                  {self + "\x41a", "\x41a", false},
		"inner tag":            {"\xa1\x41a\xd6\x41a", "\xa1\x41a\x41a", false},
		"null and absent":      {"\xa1\x41a\xf6", "\xa0", false},
		"indefinite length":    {"\xbf\x41a\x01\xff", "\xa1\x41a\x01", false},
		"longer head":          {"\x18\x01", "\x01", false},
		"version of a list":    {at("PodList", "1"), at("PodList", "22"), true},
		"version of an object": {at("Pod", "1"), at("Pod", "2"), false},
	} {
		if a, b := normalized(row.a), normalized(row.b); (a == b) != row.equal {
			t.Errorf("%s: equal should be %v:\n%s%s", name, row.equal, a, b)
		}
	}
}

// byteString returns a CBOR byte string of less than 24 bytes.
func byteString(text string) string { return string(rune(0x40+len(text))) + text }
