package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
)

const (
	// headerTimeout is how long the apiserver may take to begin a response, and bodyTimeout how
	// long to complete one that is read as a whole.
	headerTimeout = time.Minute
	bodyTimeout   = 5 * time.Minute
	// maxBody bounds a response that is read as a whole, in bytes. It is more than the largest object: etcd accepts 1.5 MiB, and
	// JSON can be six times as long.
	maxBody = 32 << 20
	// maxMessage bounds the text that is read of an error, in bytes: enough to find its cause.
	maxMessage = 512
)

// ErrTooLong is returned for a response that is longer than the limit of responses read as a whole.
var ErrTooLong = errors.New("response is too long")

// Open sends a GET request of Sluice's own and returns its response, of status 200. Any other status
// is returned as an *apierrors.StatusError. The caller must close the body.
func (u *Upstream) Open(ctx context.Context, path string, query url.Values, accept string) (*http.Response, error) {
	return u.open(ctx, path, query, http.Header{"Accept": {accept}})
}

// Coding returns the Content-Encoding that the apiserver chooses for a client that accepts gzip. It does not read the body.
func (u *Upstream) Coding(ctx context.Context, path string, query url.Values, accept string) (string, error) {
	resp, err := u.open(ctx, path, query, http.Header{"Accept": {accept}, "Accept-Encoding": {"gzip"}})
	if err != nil {
		return "", err
	}
	return resp.Header.Get("Content-Encoding"), resp.Body.Close()
}

func (u *Upstream) open(ctx context.Context, path string, query url.Values, header http.Header) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	late := time.AfterFunc(headerTimeout, func() { cancel(errors.New("the apiserver did not begin its response in time")) })
	defer late.Stop()
	target := u.Resolve(&url.URL{Path: path}, query.Encode())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	req.Header = header
	resp, err := u.Self.RoundTrip(req)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		defer cancel(nil)
		defer resp.Body.Close()
		return nil, statusError(resp)
	}
	return resp, nil
}

// Get is like Open and reads the whole body.
func (u *Upstream) Get(ctx context.Context, path string, query url.Values, accept string) ([]byte, http.Header, error) {
	return u.GetUpTo(ctx, path, query, accept, maxBody)
}

// GetUpTo is like Get for a body of at most some bytes. The error of a longer one wraps ErrTooLong.
func (u *Upstream) GetUpTo(
	ctx context.Context, path string, query url.Values, accept string, most int64,
) ([]byte, http.Header, error) {
	most = min(most, maxBody)
	ctx, cancel := context.WithTimeout(ctx, bodyTimeout)
	defer cancel()
	resp, err := u.Open(ctx, path, query, accept)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, most+1)) // in pieces, which it joins: it holds a body twice at most
	if err == nil && int64(len(body)) > most {
		err = fmt.Errorf("%w: more than %d bytes", ErrTooLong, most)
	}
	if err != nil {
		return nil, nil, err
	}
	return body, resp.Header, nil
}

// Version returns the version of the apiserver, with the header of its response.
func (u *Upstream) Version(ctx context.Context) (*version.Info, http.Header, error) {
	body, header, err := u.Get(ctx, "/version", nil, "application/json")
	if err != nil {
		return nil, nil, err
	}
	info := &version.Info{}
	return info, header, json.Unmarshal(body, info)
}

// statusError returns a response that is not a success as an error. Its message is the beginning of
// the body, whatever the encoding: it is only logged.
func statusError(resp *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxMessage))
	status := metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    int32(resp.StatusCode),
		Message: fmt.Sprintf("apiserver responds %d: %s", resp.StatusCode, text),
	}
	if seconds, err := strconv.ParseInt(resp.Header.Get("Retry-After"), 10, 32); err == nil && seconds > 0 {
		status.Details = &metav1.StatusDetails{RetryAfterSeconds: int32(seconds)}
	}
	return &apierrors.StatusError{ErrStatus: status}
}
