package proxy

import (
	"encoding/json"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"testing/synctest"

	authenticationv1 "k8s.io/api/authentication/v1"
)

// The apiserver ends a connection over which it rejects a token. One whose token it cannot review has done nothing wrong.
func TestConnectionEndsWhenItsTokenIsRejected(t *testing.T) {
	for name, row := range map[string]struct {
		review int // status of the response
		ends   bool
	}{
		"rejected":       {http.StatusCreated, true},
		"not reviewed":   {http.StatusServiceUnavailable, false},
		"review refused": {http.StatusTooManyRequests, false},
	} {
		t.Run(name, func(t *testing.T) {
			apiserver := func(w http.ResponseWriter, r *http.Request) {
				if !strings.HasSuffix(r.URL.Path, "/tokenreviews") {
					return
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(row.review)
				_ = json.NewEncoder(w).Encode(&authenticationv1.TokenReview{})
			}
			run(t, drain, apiserver, func(t *testing.T, e *env) {
				reused := func() (reused bool) {
					trace := &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) { reused = c.Reused }}
					r, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), http.MethodGet, "https://sluice/version", nil)
					if err != nil {
						t.Fatal(err)
					}
					r.Header.Set("Authorization", "Bearer unknown")
					resp, err := e.client.Do(r)
					if err != nil {
						t.Fatal(err)
					}
					resp.Body.Close()
					synctest.Wait()
					return reused
				}
				reused()
				if got := !reused(); got != row.ends {
					t.Errorf("the connection ends: %v", got)
				}
			})
		})
	}
}
