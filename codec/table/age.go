package table

import (
	"math"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"sluice/codec/json"
)

// unknown is printed for the age of an object without a timestamp, and for facts that a node does
// not report.
const unknown = "<unknown>"

// isSet reports whether the field of an optional time is set: the zero time prints as null, a field
// that is not set is absent.
func isSet(v json.Value) bool { return v != nil }

// timeOf returns the time of an RFC 3339 string, or the zero time for any other value.
func timeOf(v json.Value) time.Time {
	b, ok := v.Bytes()
	if !ok {
		return time.Time{}
	}
	var t time.Time
	if t.UnmarshalText(b) != nil {
		return time.Time{}
	}
	return t
}

// appendSince appends the age of the time v.
func (r *row) appendSince(dst []byte, v json.Value) []byte {
	return r.appendAge(dst, timeOf(v))
}

// appendAge appends the age of t.
func (r *row) appendAge(dst []byte, t time.Time) []byte {
	if t.IsZero() {
		return append(dst, unknown...)
	}
	return r.appendElapsed(dst, t)
}

// appendElapsed appends the duration from t to now, or leaves it out and keeps its place. Every
// text that depends on the time is written here, and nothing else in its cell may need escapes:
// that would move the place.
func (r *row) appendElapsed(dst []byte, t time.Time) []byte {
	if r.ageless {
		r.ages = append(r.ages, Age{At: len(dst), Since: t})
		return dst
	}
	return appendDuration(dst, r.now.Sub(t))
}

// appendDuration appends a duration in two or three digits.
func appendDuration(dst []byte, d time.Duration) []byte {
	return append(dst, duration.HumanDuration(d)...)
}

const (
	day  = 24 * time.Hour
	year = 365 * day
)

// ageSteps are the steps in which durations below a limit are printed, as by duration.HumanDuration; each limit is a
// multiple of its step. Longer ones are printed in years.
var ageSteps = [...]struct{ below, step time.Duration }{
	{10 * time.Minute, time.Second},
	{8 * time.Hour, time.Minute},
	{8 * day, time.Hour},
	{8 * year, day},
	{math.MaxInt64, year},
}

// durationChanges returns the least duration above d that appendDuration prints differently, or
// false if a Duration cannot hold it.
func durationChanges(d time.Duration) (time.Duration, bool) {
	switch {
	case d <= -2*time.Second: // which is invalid
		return -2*time.Second + 1, true
	case d < 0: // which counts as 0
		return time.Second, true
	}
	i := 0
	for d >= ageSteps[i].below && i < len(ageSteps)-1 {
		i++
	}
	step := ageSteps[i].step
	if d > math.MaxInt64-step {
		return 0, false
	}
	return d - d%step + step, true
}
