package proto

import "time"

// Field numbers of metav1.Timestamp.
const (
	timestampSeconds = 1
	timestampNanos   = 2
)

// zeroTime is the zero time.Time in Unix seconds, which is printed as null.
const zeroTime = -62135596800

// microLayout is metav1.RFC3339Micro.
const microLayout = "2006-01-02T15:04:05.000000Z07:00"

// A timestamp is a decoded metav1.Timestamp, in Unix seconds and nanoseconds.
type timestamp struct{ seconds, nanos int64 }

// readTimestamp reads the timestamp of a Time or MicroTime. An empty message is the zero time.
func (tc *transcoder) readTimestamp(b []byte, p *plan) (t timestamp, err error) {
	if len(b) == 0 {
		return timestamp{seconds: zeroTime}, nil
	}
	for i := 0; i < len(b); {
		f, err := readField(b, i)
		switch {
		case err != nil:
			return t, tc.errorAt(err, p, b, i)
		case f.num > timestampNanos:
			return t, tc.fieldErrorAt(ErrUnknownField, p, uint64(f.num), b, i)
		case f.typ != wireVarint:
			return t, tc.errorAt(ErrWireType, p, b, i)
		case f.num == timestampSeconds:
			t.seconds = int64(f.value)
		default:
			t.nanos = int64(int32(f.value))
		}
		i = f.end
	}
	return t, nil
}

// appendSeconds appends the time as RFC 3339 in UTC. Fractions of a second are dropped, as
// metav1.Time does when it decodes.
func (t timestamp) appendSeconds(dst []byte) []byte {
	const first, last = -62167219200, 253402300799 // the years 0 to 9999
	if t.seconds < first || t.seconds > last {
		return time.Unix(t.seconds, 0).UTC().AppendFormat(dst, time.RFC3339)
	}
	days, rest := floorDiv(t.seconds, 86400)
	y, m, d := civilDate(days)
	return append(dst,
		byte('0'+y/1000), byte('0'+y/100%10), byte('0'+y/10%10), byte('0'+y%10), '-',
		byte('0'+m/10), byte('0'+m%10), '-',
		byte('0'+d/10), byte('0'+d%10), 'T',
		byte('0'+rest/36000), byte('0'+rest/3600%10), ':',
		byte('0'+rest/600%6), byte('0'+rest/60%10), ':',
		byte('0'+rest/10%6), byte('0'+rest%10), 'Z')
}

// appendMicros appends the time as RFC 3339 in UTC with six decimals.
func (t timestamp) appendMicros(dst []byte) []byte {
	return t.microTime().AppendFormat(dst, microLayout)
}

// microTime returns the time as metav1.MicroTime decodes it.
func (t timestamp) microTime() time.Time {
	return time.Unix(t.seconds, int64(time.Duration(t.nanos).Truncate(time.Microsecond))).UTC()
}

func floorDiv(a, b int64) (quotient, rest int64) {
	quotient, rest = a/b, a%b
	if rest < 0 {
		return quotient - 1, rest + b
	}
	return quotient, rest
}

// civilDate returns the Gregorian date of a day, counted from 1970-01-01. Years begin in March
// here, so that the leap day is their last day; 146097 days are 400 years.
func civilDate(days int64) (year, month, day int64) {
	era, d := floorDiv(days+719468, 146097)
	y := (d - d/1460 + d/36524 - d/146096) / 365
	d -= 365*y + y/4 - y/100
	m := (5*d + 2) / 153
	day = d - (153*m+2)/5 + 1
	year = y + era*400
	if m < 10 {
		return year, m + 3, day
	}
	return year + 1, m - 9, day
}
