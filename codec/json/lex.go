package json

// Traits says what the raw bytes between a string's quotes need before they
// are text.
type Traits uint8

const (
	Escaped Traits = 1 << iota // a backslash is among them
	Wide                       // a byte above 0x7f is among them, valid UTF-8 or not
)

// The functions below are for packages that turn JSON into something else in
// one walk of their own. They find where tokens end, as cheaply as can be,
// and check nothing beyond; the bytes must have passed Valid or come from
// where that is known. Past the end they return len(b), at what is no token
// -1, and never do they read out of bounds.

// SkipSpace returns the first index from i on that holds no JSON space,
// which may be len(b).
func SkipSpace(b []byte, i int) int { return skipSpace(b, i) }

// SkipString returns the index after the string whose opening quote is b[i],
// or -1 if it does not end, and what it needs. Its raw bytes are
// b[i+1:end-1].
func SkipString(b []byte, i int) (end int, t Traits) { return skipString(b, i) }

// SkipScalar returns the index after the number or literal at b[i], or -1 if
// there is none.
func SkipScalar(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	return skipScalar(b, i)
}

// AppendUnquoted appends the text of a string's raw bytes.
func AppendUnquoted(dst, raw []byte) []byte { return appendUnquoted(dst, raw) }

// ValidNumber tells whether b is a number as JSON's grammar has it.
func ValidNumber(b []byte) bool { return len(b) > 0 && validNumber(b) }
