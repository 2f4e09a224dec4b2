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

// deadlines is the connection of a client that has sent all of its body: reads fail after their deadline, as
// those of a net.Conn do, and as the body of an HTTP/2 stream does from then on.
type deadlines struct {
	*httptest.ResponseRecorder
	timer  *time.Timer
	failed bool
}

func (d *deadlines) SetReadDeadline(at time.Time) error {
	if d.timer != nil {
		d.timer.Stop()
	}
	if !at.IsZero() {
		d.timer = time.AfterFunc(time.Until(at), func() { d.failed = true })
	}
	return nil
}

func (d *deadlines) Read(p []byte) (int, error) {
	if d.failed {
		return 0, os.ErrDeadlineExceeded
	}
	return len(p), nil
}

func (d *deadlines) Close() error { return nil }

// The apiserver lets a write wait in its queues before it reads the body.
func TestClientKeepsItsPaceWhileTheApiserverReadsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &deadlines{ResponseRecorder: httptest.NewRecorder()}
		b := &pacedBody{ReadCloser: client, client: http.NewResponseController(client)}
		for range 4 {
			if _, err := io.ReadFull(b, make([]byte, 32<<10)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * paceTime)
			synctest.Wait()
		}
		b.stop()
	})
}

// stalling is a client that sends nothing until its read deadline.
type stalling struct {
	*httptest.ResponseRecorder
	body *io.PipeWriter
}

func (s stalling) SetReadDeadline(at time.Time) error {
	time.AfterFunc(time.Until(at), func() { s.body.CloseWithError(os.ErrDeadlineExceeded) })
	return nil
}

func TestBodyThatIsReadFirstMustArriveInItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body, out := io.Pipe()
		p, r := new(passing), httptest.NewRequest(http.MethodPost, "/api/v1/namespaces/ns/configmaps", body)
		info, err := request.Parse(r)
		if err != nil {
			t.Fatal(err)
		}
		r = r.WithContext(context.WithValue(request.With(r.Context(), info), passingKey{}, p))
		begin := time.Now()
		_, err = p.withBody(stalling{httptest.NewRecorder(), out}, r)
		if err == nil || time.Since(begin) != bodyTimeout || !apierrors.IsTimeout(bodyError(r)) {
			t.Errorf("after %v: %v, %v", time.Since(begin), err, bodyError(r))
		}
	})
}
