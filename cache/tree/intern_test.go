package tree

import (
	"strings"
	"testing"
	"unsafe"
)

// A value that is part of a reused buffer must not change with it.
func TestInternedStringsHaveMemoryOfTheirOwn(t *testing.T) {
	for _, n := range []int{1, internMax, internMax + 1} {
		buffer := []byte(strings.Repeat("x", n))
		got := Intern(unsafe.String(&buffer[0], n))
		clear(buffer)
		if got != strings.Repeat("x", n) {
			t.Errorf("string of %d bytes: %q", n, got)
		}
	}
}
