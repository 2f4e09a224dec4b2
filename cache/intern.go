package cache

import "unique"

// internMax is the length from which strings are not shared: they are rarely
// equal.
const internMax = 128

// Intern returns a string with the text of b that shares its memory with equal
// ones. What nobody uses any more is freed.
func Intern[T string | []byte](b T) string {
	if len(b) == 0 {
		return ""
	}
	if len(b) > internMax {
		return string(b)
	}
	return unique.Make(string(b)).Value()
}
