package forward

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sluice/proxy/response"
)

const (
	// maxBuffered is the largest request body that is buffered, in bytes, and maxBufferedTotal bounds
	// all of them together. Larger ones pass unbuffered, and are sent once.
	maxBuffered      = 1 << 20
	maxBufferedTotal = 64 << 20
	// bodyTimeout bounds how long reading a body may take that is buffered: the apiserver's own limit
	// for whole requests.
	bodyTimeout = time.Minute
)

// clientBody is the body of a request. It keeps the error of the client's side, which RoundTrip
// returns as it returns failures of the upstream.
type clientBody struct {
	io.ReadCloser
	chunked bool // of HTTP/1.1, so that it can be malformed
	failed  atomic.Pointer[error]
}

func (b *clientBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		b.failed.Store(&err)
	}
	return n, err
}

type clientBodyKey struct{}

// withBody returns the request with a body whose errors bodyError returns. A body of known, moderate
// length is read first: the transport can then send the request again if the upstream closes the
// connection before it has begun to process the request, as the apiserver does after a 401 of
// another one. The caller must call release when the request has ended.
func (f *Forwarder) withBody(w http.ResponseWriter, r *http.Request) (out *http.Request, release func(), err error) {
	if r.Body == nil || r.Body == http.NoBody {
		return r, func() {}, nil
	}
	body := &clientBody{ReadCloser: r.Body, chunked: len(r.TransferEncoding) > 0}
	r = r.WithContext(context.WithValue(r.Context(), clientBodyKey{}, body))
	r.Body = body
	// A client that expects 100 Continue waits until the upstream has seen the headers.
	if r.ContentLength <= 0 || r.ContentLength > maxBuffered || r.Header.Get("Expect") != "" || !f.buffered.TryAcquire(r.ContentLength) {
		return r, func() {}, nil
	}
	size := r.ContentLength
	release = func() { f.buffered.Release(size) }
	client := http.NewResponseController(w)
	// Without read deadlines, which only the ResponseWriters of tests lack, the total limits clients.
	_ = client.SetReadDeadline(time.Now().Add(bodyTimeout))
	all := make([]byte, size)
	if _, err := io.ReadFull(body, all); err != nil {
		release()
		return r, nil, err // the deadline stays, so that the connection ends
	}
	_ = client.SetReadDeadline(time.Time{})
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(all)), nil }
	r.Body, _ = r.GetBody()
	return r, release, nil
}

// bodyError returns why the body of the request could not be read, as the error to respond with, or
// errClientGone. It returns nil if that is not why the request failed.
func bodyError(r *http.Request) error {
	body, ok := r.Context().Value(clientBodyKey{}).(*clientBody)
	if !ok || body.failed.Load() == nil {
		return nil
	}
	err := *body.failed.Load()
	var tooLarge *http.MaxBytesError
	var network net.Error
	switch {
	case errors.As(err, &tooLarge):
		return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", tooLarge.Limit))
	case errors.Is(err, os.ErrDeadlineExceeded):
		return response.NewBodyTimeout()
	case body.chunked && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.As(err, &network):
		return apierrors.NewBadRequest("the request body is malformed: " + err.Error())
	}
	return errClientGone
}
