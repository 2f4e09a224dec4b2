package security

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	"sluice/test/harness"
)

// 500 anonymous requests opened 194 connections to the apiserver. They have 64 places, apart from the seats of
// others, whose requests all succeed meanwhile. They come by HTTP/1.1: a rejected token ends its connection, and a client
// of HTTP/2 would spend a minute repeating what it had sent after the last stream that was answered.
func TestFloodOfStrangersStarvesNobody(t *testing.T) {
	ns := plane.Namespace(t)
	var requests sync.WaitGroup
	for range 500 {
		requests.Go(func() {
			resp, err := sluice.Raw(harness.Anonymous).Do(t.Context(), harness.Request{Path: "/openapi/v2", Header: withToken("wrong"), HTTP1: true})
			if err != nil {
				t.Error(err)
				return
			}
			switch resp.Status {
			case http.StatusUnauthorized:
			case http.StatusTooManyRequests, http.StatusServiceUnavailable:
				if resp.Header.Get("Retry-After") == "" {
					t.Errorf("%d without Retry-After", resp.Status)
				}
			default:
				t.Errorf("a wrong token: %d %s", resp.Status, resp.Body)
			}
		})
	}
	for range 50 {
		requests.Go(func() {
			path := "/apis/coordination.k8s.io/v1/namespaces/" + ns + "/leases"
			if _, err := sluice.Raw("admin").Write(t.Context(), http.MethodPost, path, `{"metadata":{"generateName":"l"}}`); err != nil {
				t.Error(err)
			}
		})
	}
	requests.Wait()
	harness.Eventually(t, "the places are given back", func() error { // a moment after the client has its response
		metrics, err := sluice.AdminGet("/metrics")
		if err == nil && !strings.Contains(metrics, `sluice_queue_taken{queue="unauthenticated"} 0`) {
			err = errors.New("some remain taken")
		}
		return err
	})
}
