package forward

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sluice/proxy/flowcontrol"
	"sluice/proxy/limits"
	"sluice/proxy/message"
	"sluice/proxy/request"
	"sluice/proxy/response"
)

const (
	// maxKept is the longest request body that is read before the request is sent, in bytes: the apiserver's own limit
	// (wire.md 10, 413), and firstKept the first buffer for one of unknown length. Of longer ones, as much is read before, and
	// the rest is sent as it arrives, once.
	maxKept   = 3 << 20
	firstKept = 4 << 10
	// bodyTimeout bounds how long a client may send its body: the apiserver's own limit for whole requests.
	bodyTimeout = time.Minute
)

// clientBody is the body of a request. It keeps the error of the client's side, which RoundTrip
// returns as it returns failures of the upstream.
type clientBody struct {
	io.ReadCloser
	chunked bool   // of HTTP/1.1, so that it can be malformed
	end     func() // takes the deadline back; it may be called again
	failed  atomic.Pointer[error]
}

func (b *clientBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	switch {
	case errors.Is(err, io.EOF):
		b.end()
	case err != nil:
		b.failed.Store(&err)
	}
	return n, err
}

// withBody gives the request a body whose errors bodyError returns. The body, or the beginning of a longer one, is read first,
// which makes the server answer a client that expects 100 Continue: then a client that stalls holds no seat, and the transport
// can send the request again if the upstream closes the connection before it has begun to process it, as the apiserver does
// after a 401 of another one. All of the body must arrive within bodyTimeout. The memory counts for the caller. The caller must
// call release when the request has ended.
func (p *passing) withBody(w http.ResponseWriter, r *http.Request) (release func(), err error) {
	if r.Body == nil || r.ContentLength == 0 { // an HTTP/2 server gives every request a Body
		r.Body = http.NoBody
		return func() {}, nil
	}
	body := &clientBody{ReadCloser: r.Body, chunked: len(r.TransferEncoding) > 0, end: func() {}}
	p.body, r.Body = body, body
	info := request.From(r.Context())
	if flowcontrol.Lasts(info) {
		return func() {}, nil
	}
	if r.Header.Get("Expect") != "" {
		r.Header = r.Header.Clone()
		r.Header.Del("Expect") // it is met here
	}
	kept := &keptBody{info: info}
	kept.memory, _ = info.Account.Take(0)
	client := http.NewResponseController(w)
	_ = client.SetReadDeadline(time.Now().Add(bodyTimeout)) // only the ResponseWriters of tests have none
	body.end = sync.OnceFunc(func() { _ = client.SetReadDeadline(time.Time{}) })
	complete, err := kept.read(body, r.ContentLength)
	if err != nil {
		kept.memory.Release()
		return nil, err // the deadline stays, so that the connection ends
	}
	if complete {
		kept.whole(r)
		return kept.memory.Release, nil
	}
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(kept.bytes), body), body}
	return func() { body.end(); kept.memory.Release() }, nil
}

// keptBody is a body that is read into memory.
type keptBody struct {
	info   *request.Info
	memory *limits.Hold
	bytes  []byte
}

// whole makes a request one with this body, which can be sent again.
func (k *keptBody) whole(r *http.Request) {
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(k.bytes)), nil }
	r.Body, _ = r.GetBody()
	r.ContentLength, r.TransferEncoding = int64(len(k.bytes)), nil
	if len(k.bytes) == 0 {
		r.Body = http.NoBody
	}
}

// read reads a body of a length, -1 if that is unknown, into buffers that are taken from the account before
// they are filled. It reports whether the body is complete; the rest of another is still to be read. The
// error is the client's, or a 429 for a caller that is not authenticated, whose bodies have no place but
// this.
func (k *keptBody) read(body io.Reader, length int64) (complete bool, err error) {
	for {
		if len(k.bytes) == cap(k.bytes) {
			larger := max(2*int64(cap(k.bytes)), firstKept)
			if length >= 0 {
				larger = min(larger, length+1) // and one for the end
			}
			if larger = min(larger, maxKept+1); int64(len(k.bytes)) == larger {
				return false, nil
			}
			if err := k.memory.Resize(larger); err != nil {
				if k.info.Caller == request.Unauthenticated {
					return false, err
				}
				return false, nil
			}
			k.bytes = append(make([]byte, 0, larger), k.bytes...)
		}
		n, err := body.Read(k.bytes[len(k.bytes):cap(k.bytes)])
		k.bytes = k.bytes[:len(k.bytes)+n]
		switch {
		case errors.Is(err, io.EOF):
			return true, nil
		case err != nil:
			return false, err
		}
	}
}

// bodyError returns why the body of the request could not be read, as the error to respond with, or
// errClientGone. It returns nil if that is not why the request failed.
func bodyError(r *http.Request) error {
	body := passingOf(r).body
	if body == nil || body.failed.Load() == nil {
		return nil
	}
	err := *body.failed.Load()
	var tooLarge *http.MaxBytesError
	var network net.Error
	refused, crowdedOut := errors.AsType[*limits.Refused](err)
	switch {
	case crowdedOut:
		return refused
	case errors.As(err, &tooLarge):
		return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", tooLarge.Limit))
	case errors.Is(err, os.ErrDeadlineExceeded):
		return response.NewBodyTimeout()
	case body.chunked && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.As(err, &network):
		return apierrors.NewBadRequest(message.BadBody.Say(err))
	}
	return errClientGone
}
