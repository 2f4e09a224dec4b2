package conformance

import (
	"encoding/hex"
	"net/http"
	"strings"
	"testing"
)

func TestNormalizedCBORIgnoresOnlyTheOrderOfMaps(t *testing.T) {
	const self = "d9d9f7"
	normalized := func(text string) string {
		body, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		return string(normalize(body, http.Header{"Content-Type": {"application/cbor"}}, false))
	}
	for _, tc := range []struct {
		name, a, b string
		equal      bool
	}{
		{"order of entries", self + "a2 4161 01 4162 02", self + "a2 4162 02 4161 01", true},
		{"order of inner entries", self + "a1 4161 81 a2 4161 01 4162 02", self + "a1 4161 81 a2 4162 02 4161 01", true},
		{"order of elements", "82 01 02", "82 02 01", false},
		{"bytes and text", "4161", "6161", false},
		{"integers and floats", "01", "f93c00", false},
		{"widths of floats", "f93c00", "fa3f800000", false},
		{"widths of integers", "01", "1801", false},
		{"signs", "01", "20", false},
		{"tags", self + "4161", "4161", false},
		{"inner tags", "a1 4161 d6 4161", "a1 4161 4161", false},
		{"indefinite length", "a1 4161 01", "bf 4161 01 ff", false},
		{"null and absent", "a1 4161 f6", "a0", false},
		{"null and false", "f6", "f4", false},
		{"number of items", "01", "01 01", false},
		{"truncated", "82 01", "82 01 01", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a, b := normalized(tc.a), normalized(tc.b)
			if (a == b) != tc.equal {
				t.Errorf("equal should be %v:\n%s%s", tc.equal, a, b)
			}
		})
	}
}

// TestNormalizedCBORIgnoresOnlyVersionsOfLists and not those of objects.
func TestNormalizedCBORIgnoresOnlyVersionsOfLists(t *testing.T) {
	normalized := func(kind, version string) string {
		body := "\xd9\xd9\xf7\xa3\x44kind" + byteString(kind) + "\x48metadata\xa1\x4fresourceVersion" + byteString(version) + "\x4aapiVersion" + byteString("v1")
		return string(normalize([]byte(body), http.Header{"Content-Type": {"application/cbor"}}, false))
	}
	if a, b := normalized("PodList", "1"), normalized("PodList", "22"); a != b {
		t.Errorf("lists differ by their resource version:\n%s%s", a, b)
	}
	if a, b := normalized("Pod", "1"), normalized("Pod", "2"); a == b {
		t.Errorf("the resource version of an object is ignored: %s", a)
	}
}

// byteString returns a CBOR byte string of less than 24 bytes.
func byteString(text string) string { return string(rune(0x40+len(text))) + text }
