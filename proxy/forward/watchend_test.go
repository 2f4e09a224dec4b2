package forward_test

import (
	"context"
	"io"
	"net/http"
	"testing"

	"sluice/proxy/request"
	"sluice/test/support/forwardtest"
)

// A client that asks why its watch passed to the apiserver has ended finds the reason in the log.
func TestPassedWatchTellsHowItEnded(t *testing.T) {
	for _, row := range []struct {
		want    request.WatchEnd
		happens func(e *forwardtest.Env, w *request.PassedWatch, leave func(), end chan<- bool)
	}{
		{request.ClientClosed, func(_ *forwardtest.Env, _ *request.PassedWatch, leave func(), _ chan<- bool) { leave() }},
		{request.Timeout, func(_ *forwardtest.Env, _ *request.PassedWatch, _ func(), end chan<- bool) { end <- true }},
		{request.APIServerAway, func(e *forwardtest.Env, _ *request.PassedWatch, _ func(), end chan<- bool) { end <- false }},
		{request.Drained, func(_ *forwardtest.Env, w *request.PassedWatch, _ func(), _ chan<- bool) {
			w.How = request.Drained
			w.Ended.Set()
		}},
		{request.Failed, func(e *forwardtest.Env, _ *request.PassedWatch, _ func(), _ chan<- bool) {
			e.Memory.Users.SetTotal(0)
			e.Memory.Users.Shed(1)
		}},
	} {
		t.Run(string(row.want), func(t *testing.T) {
			watch, end := request.NewPassedWatch(false), make(chan bool)
			handler := func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, "{}\n")
				_ = http.NewResponseController(w).Flush()
				select {
				case whole := <-end:
					if !whole {
						panic(http.ErrAbortHandler)
					}
				case <-r.Context().Done():
				}
			}
			e := forwardtest.New(t, forwardtest.Settings{Caller: request.BearerToken, User: jane, PassedWatch: watch, Handler: handler})
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, e.Gateway.URL+"/api/v1/pods?watch=1", nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := e.Client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if _, err := io.ReadFull(resp.Body, make([]byte, len("{}\n"))); err != nil {
				t.Fatal(err)
			}
			row.happens(e, watch, leave, end)
			_, _ = io.Copy(io.Discard, resp.Body)
			if got := (<-e.Ended).Outcome.End; got != row.want {
				t.Errorf("the watch has ended as %q", got)
			}
		})
	}
}

func TestPassedWatchThatNeverBeganHasNotEnded(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"refused":     func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) },
		"no response": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		e := forwardtest.New(t, forwardtest.Settings{Caller: request.BearerToken, PassedWatch: request.NewPassedWatch(false), Handler: handler})
		resp, err := e.Client.Get(e.Gateway.URL + "/api/v1/pods?watch=1")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got := (<-e.Ended).Outcome.End; got != "" {
			t.Errorf("%s: the watch has ended as %q", name, got)
		}
	}
}
