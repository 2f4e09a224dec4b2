package conformance

import (
	"encoding/hex"
	"net/http"
	"strings"
	"testing"
)

// TestSteadyCBOR: the order of entries does not count, and nothing else is
// forgiven.
func TestSteadyCBOR(t *testing.T) {
	const self = "d9d9f7"
	steadied := func(text string) string {
		body, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		return string(steady(body, http.Header{"Content-Type": {"application/cbor"}}, false))
	}
	for _, tc := range []struct {
		name, a, b string
		equal      bool
	}{
		{"the order of entries", self + "a2 4161 01 4162 02", self + "a2 4162 02 4161 01", true},
		{"the order of inner entries", self + "a1 4161 81 a2 4161 01 4162 02", self + "a1 4161 81 a2 4162 02 4161 01", true},
		{"the order of elements", "82 01 02", "82 02 01", false},
		{"bytes and text", "4161", "6161", false},
		{"integers and floats", "01", "f93c00", false},
		{"widths of floats", "f93c00", "fa3f800000", false},
		{"widths of integers", "01", "1801", false},
		{"signs", "01", "20", false},
		{"tags", self + "4161", "4161", false},
		{"inner tags", "a1 4161 d6 4161", "a1 4161 4161", false},
		{"lengths that are not told", "a1 4161 01", "bf 4161 01 ff", false},
		{"null and nothing", "a1 4161 f6", "a0", false},
		{"null and false", "f6", "f4", false},
		{"one and two items", "01", "01 01", false},
		{"the end is missing", "82 01", "82 01 01", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a, b := steadied(tc.a), steadied(tc.b)
			if (a == b) != tc.equal {
				t.Errorf("equal must be %v:\n%s%s", tc.equal, a, b)
			}
		})
	}
}

// TestSteadyCBORLists: versions of lists are not compared, those of objects are.
func TestSteadyCBORLists(t *testing.T) {
	render := func(kind, version string) string {
		body := "\xd9\xd9\xf7\xa3\x44kind" + short(kind) + "\x48metadata\xa1\x4fresourceVersion" + short(version) + "\x4aapiVersion" + short("v1")
		return string(steady([]byte(body), http.Header{"Content-Type": {"application/cbor"}}, false))
	}
	if a, b := render("PodList", "1"), render("PodList", "22"); a != b {
		t.Errorf("lists differ by their version:\n%s%s", a, b)
	}
	if a, b := render("Pod", "1"), render("Pod", "2"); a == b {
		t.Errorf("the version of an object is lost: %s", a)
	}
}

// short is a byte string of less than 24 bytes.
func short(text string) string { return string(rune(0x40+len(text))) + text }
