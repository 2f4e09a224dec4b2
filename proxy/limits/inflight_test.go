package limits

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
)

func TestRequestsBeyondTheMostInFlightAreToTryAgain(t *testing.T) {
	var h http.Handler
	var codes []int
	ask := func() {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		if refused := w.Code == http.StatusTooManyRequests; refused != (w.Header().Get("Retry-After") != "") {
			t.Errorf("%d with %v", w.Code, w.Header())
		}
		codes = append(codes, w.Code)
	}
	h = InFlight(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { ask() }), 2)
	ask()
	ask() // the places are given back
	if want := []int{429, 200, 200, 429, 200, 200}; !slices.Equal(codes, want) {
		t.Errorf("%v, want %v", codes, want)
	}
}
