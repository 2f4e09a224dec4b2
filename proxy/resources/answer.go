package resources

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"sluice/cache/reflector"
)

// statusError is an answer of the upstream that is not a success.
type statusError struct {
	code    int
	message string
}

func (e *statusError) Error() string {
	return fmt.Sprintf("upstream answers %d: %s", e.code, e.message)
}

// Unwrap says what the code means to a feed.
func (e *statusError) Unwrap() error {
	switch e.code {
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return reflector.ErrAbsent
	case http.StatusUnauthorized, http.StatusForbidden:
		return reflector.ErrForbidden
	case http.StatusGone:
		return reflector.ErrExpired
	}
	return nil
}

// passing reports whether the answer may be another one soon.
func (e *statusError) passing() bool {
	switch e.code {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// refused reports whether the upstream refused the parameters of a request.
func refused(err error) bool {
	var status *statusError
	return errors.As(err, &status) && (status.code == http.StatusUnprocessableEntity || status.code == http.StatusBadRequest)
}

// answer makes the error of an unsuccessful response.
func answer(resp *http.Response) error {
	const most = 512 // of the message; enough to find the cause
	text, _ := io.ReadAll(io.LimitReader(resp.Body, most))
	var err error = &statusError{code: resp.StatusCode, message: string(text)}
	if seconds, bad := strconv.Atoi(resp.Header.Get("Retry-After")); bad == nil && seconds > 0 {
		err = &reflector.RetryAfterError{After: time.Duration(seconds) * time.Second, Err: err}
	}
	return err
}
