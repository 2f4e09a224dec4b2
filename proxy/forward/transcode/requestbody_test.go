package transcode

import (
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// timedOut is a body whose read deadline has passed.
type timedOut struct{}

func (timedOut) Read([]byte) (int, error) { return 0, os.ErrDeadlineExceeded }

func TestSlowBodyTimesOut(t *testing.T) {
	r, _ := http.NewRequest("POST", "http://x", io.MultiReader(strings.NewReader("a"), timedOut{}))
	memory, _ := newReservation(1 << 30)
	timeout := time.Duration(0)
	setTimeout := func(d time.Duration) { timeout = d }
	if _, err := readRequestBody(r, memory, setTimeout); !errors.Is(err, errRequestTimeout) || timeout != requestTimeout {
		t.Errorf("error is %v, timeout %v", err, timeout)
	}
}

func TestBodyOfGetIsNotBuffered(t *testing.T) {
	r, _ := http.NewRequest("GET", "http://x", strings.NewReader("body"))
	memory, _ := newReservation(0)
	if b, err := readRequestBody(r, memory, nil); err != nil || b.buffered != nil || b.isComplete() {
		t.Errorf("%+v, %v", b, err)
	}
}
