package proto

import "time"

// timestampSeconds is the first of the two field numbers of metav1.Timestamp.
const timestampSeconds = 1

// zeroTime is the zero time.Time in Unix seconds, which is printed as null.
const zeroTime = -62135596800

// microLayout is metav1.RFC3339Micro.
const microLayout = "2006-01-02T15:04:05.000000Z07:00"

// A timestamp is a decoded metav1.Timestamp, in Unix seconds and nanoseconds.
type timestamp struct{ seconds, nanos int64 }

// readTimestamp reads the timestamp of a Time or MicroTime. An empty message is the zero time.
func (src *source) readTimestamp(b []byte, p *plan) (t timestamp, err error) {
	if len(b) == 0 {
		return timestamp{seconds: zeroTime}, nil
	}
	err = src.fields(b, p, allVarints, func(f field, _ []byte) {
		if f.num == timestampSeconds {
			t.seconds = int64(f.value)
		} else {
			t.nanos = int64(int32(f.value))
		}
	})
	return t, err
}

// appendSeconds appends the time as RFC 3339 in UTC. Fractions of a second are dropped, as
// metav1.Time does when it decodes.
func (t timestamp) appendSeconds(dst []byte) []byte {
	return time.Unix(t.seconds, 0).UTC().AppendFormat(dst, time.RFC3339)
}

// appendMicros appends the time as RFC 3339 in UTC with six decimals.
func (t timestamp) appendMicros(dst []byte) []byte {
	return t.microTime().AppendFormat(dst, microLayout)
}

// microTime returns the time as metav1.MicroTime decodes it.
func (t timestamp) microTime() time.Time {
	return time.Unix(t.seconds, int64(time.Duration(t.nanos).Truncate(time.Microsecond))).UTC()
}
