package authz

import (
	"fmt"
	"net/http/httptrace"
	"testing"

	"k8s.io/client-go/rest"

	"sluice/test/harness"
)

// Whoever presents ever new tokens over HTTP/2 needs a connection for each few of them.
func TestConnectionsOfRejectedCallersEndAsAtTheApiserver(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, token, path string
		http1             bool
	}{
		{"rejected token", "wrong", "/api/v1/pods", false},
		{"rejected token over HTTP/1.1", "wrong", "/api/v1/pods", true},
		{"no credentials over HTTP/1.1", "", "/version", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			request := harness.Request{Path: tt.path, HTTP1: tt.http1}
			direct := connections(t, apiserver.RESTConfig(harness.Anonymous), tt.token, request)
			through := connections(t, sluice.RESTConfig(harness.Anonymous), tt.token, request)
			if direct != through {
				t.Errorf("at the apiserver: %s; at Sluice: %s", direct, through)
			}
		})
	}
}

// connections returns the codes of two requests, one after the other, and how many connections they took.
func connections(t *testing.T, config *rest.Config, token string, request harness.Request) string {
	t.Helper()
	config.BearerToken = token
	client := harness.RawClientFor(t, config)
	dialed, codes := 0, [2]int{}
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) {
		if !c.Reused {
			dialed++
		}
	}})
	for i := range codes {
		resp, err := client.Do(ctx, request)
		if err != nil {
			t.Fatal(err)
		}
		codes[i] = resp.Status
	}
	return fmt.Sprintf("%v over %d connections", codes, dialed)
}
