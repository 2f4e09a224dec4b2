package table

import (
	"math"
	"strconv"
	"time"

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

// A unit is the way to print durations below a limit: in whole big units and, if rest is set, the
// remainder in small units, which is omitted if it is zero.
type unit struct {
	below      time.Duration
	big, small time.Duration
	mark, rest byte
}

const (
	day  = 24 * time.Hour
	year = 365 * day
)

// units prints two or three digits of any duration. The last unit has no limit.
var units = [...]unit{
	{2 * time.Minute, time.Second, 0, 's', 0},
	{10 * time.Minute, time.Minute, time.Second, 'm', 's'},
	{3 * time.Hour, time.Minute, 0, 'm', 0},
	{8 * time.Hour, time.Hour, time.Minute, 'h', 'm'},
	{2 * day, time.Hour, 0, 'h', 0},
	{8 * day, day, time.Hour, 'd', 'h'},
	{2 * year, day, 0, 'd', 0},
	{8 * year, year, day, 'y', 'd'},
	{0, year, 0, 'y', 0},
}

// appendDuration appends a duration as duration.HumanDuration of apimachinery prints it: "61s",
// "4m3s", "5d". Durations down to -2s are "0s", because clocks differ; longer negative durations
// are "<invalid>".
func appendDuration(dst []byte, d time.Duration) []byte {
	switch {
	case d <= -2*time.Second:
		return append(dst, "<invalid>"...)
	case d < 0:
		return append(dst, "0s"...)
	}
	u := unitOf(d)
	dst = append(strconv.AppendInt(dst, int64(d/u.big), 10), u.mark)
	if u.rest == 0 {
		return dst
	}
	if n := d % u.big / u.small; n > 0 {
		dst = append(strconv.AppendInt(dst, int64(n), 10), u.rest)
	}
	return dst
}

// unitOf returns the unit of a duration that is not negative.
func unitOf(d time.Duration) *unit {
	for i := range units[:len(units)-1] {
		if d < units[i].below {
			return &units[i]
		}
	}
	return &units[len(units)-1]
}

// durationChanges returns the least duration above d that appendDuration prints differently, or
// false if a Duration cannot hold it.
func durationChanges(d time.Duration) (time.Duration, bool) {
	switch {
	case d <= -2*time.Second:
		return -2*time.Second + 1, true
	case d < 0:
		return time.Second, true
	}
	u := unitOf(d)
	step := u.big
	if u.rest != 0 {
		step = u.small
	}
	if d > math.MaxInt64-step {
		return 0, false
	}
	return d - d%step + step, true // every unit ends at a multiple of its steps
}
