package table

import (
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
func appendSince(dst []byte, v json.Value, now time.Time) []byte {
	return appendAge(dst, timeOf(v), now)
}

// appendAge appends the age of t.
func appendAge(dst []byte, t, now time.Time) []byte {
	if t.IsZero() {
		return append(dst, unknown...)
	}
	return appendDuration(dst, now.Sub(t))
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
	u := &units[len(units)-1]
	for i := range units {
		if d < units[i].below {
			u = &units[i]
			break
		}
	}
	dst = append(strconv.AppendInt(dst, int64(d/u.big), 10), u.mark)
	if u.rest == 0 {
		return dst
	}
	if n := d % u.big / u.small; n > 0 {
		dst = append(strconv.AppendInt(dst, int64(n), 10), u.rest)
	}
	return dst
}
