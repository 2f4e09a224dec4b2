package proto

import "time"

// timestampSeconds is the first of the two field numbers of metav1.Timestamp.
const timestampSeconds = 1

// zeroTime is the zero time.Time in Unix seconds, which is printed as null.
const zeroTime = -62135596800

// A timestamp is a decoded metav1.Timestamp, in Unix seconds and nanoseconds.
type timestamp struct{ seconds, nanos int64 }

// readTimestamp reads the timestamp of a Time or MicroTime. An empty message is the zero time.
func (p *plan) readTimestamp(b []byte) (t timestamp, err error) {
	if len(b) == 0 {
		return timestamp{seconds: zeroTime}, nil
	}
	err = p.fieldsOf(b, allVarints, func(f field, _ []byte) {
		if f.num == timestampSeconds {
			t.seconds = int64(f.value)
		} else {
			t.nanos = int64(int32(f.value))
		}
	})
	return t, err
}

// microTime returns the time as metav1.MicroTime decodes it.
func (t timestamp) microTime() time.Time {
	return time.Unix(t.seconds, int64(time.Duration(t.nanos).Truncate(time.Microsecond))).UTC()
}
