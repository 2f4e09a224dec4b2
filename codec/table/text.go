package table

import (
	"encoding/binary"
	"iter"
	"time"
)

// An Age is a place in a text where the duration from a time to the present belongs.
type Age struct {
	At    int // offset in the text without ages
	Since time.Time
}

// Text is JSON with the cells of any number of rows, whose ages are left out: nothing else in it
// depends on the time. It must not be changed.
type Text struct {
	Bytes []byte
	Ages  []Age // in ascending order of At, each inside a JSON string
}

// longestAge is enough for any duration, escaped.
const longestAge = 32

// Parts yields the text with its ages as of now, in pieces. A piece is valid until the next one.
func (t *Text) Parts(now time.Time) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		var age [longestAge]byte
		from := 0
		for i := range t.Ages {
			a := &t.Ages[i]
			if !yield(t.Bytes[from:a.At]) || !yield(appendEscaped(age[:0], now.Sub(a.Since))) {
				return
			}
			from = a.At
		}
		yield(t.Bytes[from:])
	}
}

// AppendAt appends the text with its ages as of now.
func (t *Text) AppendAt(dst []byte, now time.Time) []byte {
	for part := range t.Parts(now) {
		dst = append(dst, part...)
	}
	return dst
}

// appendEscaped appends a duration as part of a JSON string.
func appendEscaped(dst []byte, d time.Duration) []byte {
	if d <= -2*time.Second {
		return append(dst, `\u003cinvalid\u003e`...)
	}
	return appendDuration(dst, d)
}

// Changes returns the first time after now at which an age in the text is printed differently, and
// false if that never happens. A clock that is set back may print other ages before now.
func (t *Text) Changes(now time.Time) (time.Time, bool) {
	var first time.Time
	found := false
	for i := range t.Ages {
		since := t.Ages[i].Since
		d, ok := durationChanges(now.Sub(since))
		if !ok {
			continue
		}
		if at := since.Add(d); !found || at.Before(first) {
			first, found = at, true
		}
	}
	return first, found
}

// packedAge is the length of an age in a packed text: its place, seconds and nanoseconds.
const packedAge = 4 + 8 + 4

// Pack appends the text in a form that Unpack reads, for caches that hold bytes.
func (t *Text) Pack(dst []byte) []byte {
	dst = append(dst, t.Bytes...)
	for _, a := range t.Ages {
		dst = binary.LittleEndian.AppendUint32(dst, uint32(a.At))
		dst = binary.LittleEndian.AppendUint64(dst, uint64(a.Since.Unix()))
		dst = binary.LittleEndian.AppendUint32(dst, uint32(a.Since.Nanosecond()))
	}
	return binary.LittleEndian.AppendUint32(dst, uint32(len(t.Ages)))
}

// Unpack returns the text in p, which must be the result of Pack. The text aliases p, and its ages
// are appended to ages.
func Unpack(p []byte, ages []Age) Text {
	end := len(p) - 4
	n := end - packedAge*int(binary.LittleEndian.Uint32(p[end:]))
	for at := n; at < end; at += packedAge {
		ages = append(ages, Age{
			At:    int(binary.LittleEndian.Uint32(p[at:])),
			Since: time.Unix(int64(binary.LittleEndian.Uint64(p[at+4:])), int64(binary.LittleEndian.Uint32(p[at+12:]))),
		})
	}
	return Text{Bytes: p[:n:n], Ages: ages}
}
