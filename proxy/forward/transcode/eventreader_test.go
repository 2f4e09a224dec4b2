package transcode

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sluice/proxy/limits"
)

func TestEventsAreFoundHoweverTheStreamIsSplit(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var stream strings.Builder
	var want []string
	for i := range 200 {
		object := fmt.Sprintf(`{"n":%d,"text":"}{\"\\\\]\\\"","list":[[],{"a":[1]}],"pad":%q}`, i, strings.Repeat("x", random.IntN(1<<random.IntN(19))))
		want = append(want, object)
		stream.WriteString(strings.Repeat(" \n", random.IntN(3)) + object + strings.Repeat("\r\n", random.IntN(2)))
	}
	for name, in := range map[string]io.Reader{
		"at once":         strings.NewReader(stream.String()),
		"single bytes":    iotest.OneByteReader(strings.NewReader(stream.String())),
		"half reads":      iotest.HalfReader(strings.NewReader(stream.String())),
		"error with data": iotest.DataErrReader(strings.NewReader(stream.String())),
	} {
		t.Run(name, func(t *testing.T) {
			memory, taken := newReservation(maxEvent)
			r := newEventReader(in, memory)
			for i, w := range want {
				got, err := r.next()
				if err != nil || string(got) != w {
					t.Fatalf("object %d: %.100q, %v, want %.100q", i, got, err, w)
				}
			}
			if got, err := r.next(); !errors.Is(err, io.EOF) {
				t.Errorf("at the end: %q, %v", got, err)
			}
			if n := taken(); n != 0 {
				t.Errorf("%d bytes are taken", n)
			}
		})
	}
}

// TestEndlessEventIsGivenUp: at maxEvent, or earlier if the account may take no more.
func TestEndlessEventIsGivenUp(t *testing.T) {
	for _, size := range []int64{1 << 20, 1 << 30} {
		memory, taken := newReservation(size)
		r := newEventReader(strings.NewReader(`{"a":"`+strings.Repeat("0", 3*maxEvent)), memory)
		var status apierrors.APIStatus
		if _, err := r.next(); size == 1<<20 && !errors.As(err, &status) || size == 1<<30 && !errors.Is(err, errEvent) {
			t.Errorf("%d: %v", size, err)
		}
		if n := int64(r.read); n > taken() || n > 2*maxEvent {
			t.Errorf("%d bytes are read, %d are taken", n, taken())
		}
		memory.Release()
		if n := taken(); n != 0 {
			t.Errorf("%d bytes are taken", n)
		}
	}
}

// newReservation returns an empty reservation of an account that may take so many bytes, and a function that
// returns how many it has taken.
func newReservation(bytes int64) (*limits.Hold, func() int64) {
	l := limits.NewLedger(bytes*4/3*16/15 + 16)
	g, _ := l.Take(limits.Caller{Group: "jane"}, 0)
	return g, func() int64 { return l.Usage().Held }
}
