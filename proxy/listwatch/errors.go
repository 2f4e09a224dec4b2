package listwatch

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sluice/cache/reflector"
	"sluice/proxy/discovery"
)

var (
	// ErrMismatch is returned by Compare if the store differs from the apiserver.
	ErrMismatch = errors.New("the store differs from the apiserver")

	// errEncoding is returned for a response in an encoding that was not accepted.
	errEncoding = errors.New("unexpected encoding")
)

// classify wraps an error in the sentinel errors by which the reflector decides how to go on.
func classify(err error) error {
	switch {
	case errors.Is(err, discovery.ErrNotCacheable):
		return fmt.Errorf("%w: %w", err, reflector.ErrAbsent)
	case errors.Is(err, discovery.ErrChanged):
		return fmt.Errorf("%w: %w", err, reflector.ErrRebuild)
	}
	var status *apierrors.StatusError
	if !errors.As(err, &status) {
		return err
	}
	switch status.ErrStatus.Code {
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		err = fmt.Errorf("%w: %w", err, reflector.ErrAbsent)
	case http.StatusUnauthorized, http.StatusForbidden:
		err = fmt.Errorf("%w: %w", err, reflector.ErrForbidden)
	case http.StatusGone:
		err = fmt.Errorf("%w: %w", err, reflector.ErrExpired)
	}
	if seconds, ok := apierrors.SuggestsClientDelay(status); ok {
		err = &reflector.RetryAfterError{After: time.Duration(seconds) * time.Second, Err: err}
	}
	return err
}

// refused reports whether the apiserver refused the parameters of a request.
func refused(err error) bool { return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) }

// malformed wraps the error of an event that cannot be read in reflector.ErrRebuild: if the watch
// were resumed, the apiserver would send the same event again.
func malformed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("event: %w: %w", err, reflector.ErrRebuild)
}
