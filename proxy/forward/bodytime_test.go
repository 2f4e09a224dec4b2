package forward

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sluice/proxy/request"
)

// timed is a client that sends so many bytes and nothing more until its read deadline.
type timed struct {
	*httptest.ResponseRecorder
	left     int
	deadline time.Time
}

func (c *timed) SetReadDeadline(at time.Time) error {
	c.deadline = at
	return nil
}

func (c *timed) Read(p []byte) (int, error) {
	n := min(len(p), c.left)
	if c.left -= n; n > 0 {
		return n, nil
	}
	time.Sleep(time.Until(c.deadline))
	return 0, os.ErrDeadlineExceeded
}

// What is read first holds no seat, and what is sent as it arrives holds one.
func TestBodiesMustArriveInTheirTime(t *testing.T) {
	for name, sent := range map[string]int{"read first": 10, "sent as it arrives": maxKept + 1} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := &timed{ResponseRecorder: httptest.NewRecorder(), left: sent}
				p, r := new(passing), httptest.NewRequest(http.MethodPost, "/api/v1/namespaces/ns/configmaps", client)
				info, err := request.Parse(r)
				if err != nil {
					t.Fatal(err)
				}
				r = r.WithContext(context.WithValue(request.With(r.Context(), info), passingKey{}, p))
				begin := time.Now()
				release, err := p.withBody(client, r)
				if err == nil {
					_, err = io.Copy(io.Discard, r.Body)
					release()
				}
				if err == nil || time.Since(begin) != bodyTimeout || !apierrors.IsTimeout(bodyError(r)) {
					t.Errorf("after %v: %v, %v", time.Since(begin), err, bodyError(r))
				}
				if sent > maxKept && !client.deadline.IsZero() {
					t.Error("the deadline outlives the request")
				}
			})
		})
	}
}
