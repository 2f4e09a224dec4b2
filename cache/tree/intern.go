package tree

import (
	"strings"
	"unique"
)

// internMax is the greatest length of strings that Intern shares: longer ones are rarely equal.
const internMax = 128

// Intern returns b as a string that shares its memory with equal interned strings. The memory is
// freed when no string uses it any more. It is not that of b.
func Intern[T string | []byte](b T) string {
	if len(b) == 0 {
		return ""
	}
	if len(b) > internMax {
		return strings.Clone(string(b))
	}
	return unique.Make(string(b)).Value()
}
