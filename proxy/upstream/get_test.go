package upstream

import (
	"errors"
	"io"
	"math"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func TestErrorBodiesAreReadOnlyToTheirCause(t *testing.T) {
	body := strings.NewReader("because " + strings.Repeat("x", 1<<20))
	err := statusError(&http.Response{StatusCode: http.StatusGone, Body: io.NopCloser(body)})
	if !apierrors.IsGone(err) || !strings.Contains(err.Error(), "because xxx") {
		t.Errorf("got %.100v", err)
	}
	if len(err.Error()) > 4<<10 || body.Len() < 1<<20-4<<10 {
		t.Errorf("error has %d bytes of %d", len(err.Error()), body.Size()-int64(body.Len()))
	}
}

func TestStatusErrorsTellRetryAfter(t *testing.T) {
	for header, want := range map[string]int{"": 0, "13": 13, "-1": 0, "Wed, 21 Oct 2015 07:28:00 GMT": 0} {
		err := statusError(&http.Response{
			StatusCode: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {header}}, Body: http.NoBody,
		})
		if seconds, ok := apierrors.SuggestsClientDelay(err); seconds != want || ok != (want > 0) {
			t.Errorf("%q: %d, %v", header, seconds, ok)
		}
	}
}

// A body is in memory as a whole.
func TestBodiesThatAreTooLongAreErrors(t *testing.T) {
	a := newAPIServer(t, func(s *http.Server) {
		s.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 100<<10)) })
	})
	u := a.connect(t, false, nil)
	for most, fits := range map[int64]bool{0: false, 100<<10 - 1: false, 100 << 10: true, math.MaxInt64: true} {
		body, _, err := u.GetUpTo(t.Context(), "/", nil, "*/*", most)
		if errors.Is(err, ErrTooLong) == fits || (err == nil) != fits || fits && len(body) != 100<<10 {
			t.Errorf("up to %d: %d bytes, %v", most, len(body), err)
		}
	}
}
