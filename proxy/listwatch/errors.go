package listwatch

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sluice/cache"
	"sluice/cache/reflector"
	"sluice/proxy/discovery"
)

var (
	// errSilent is returned for a streaming list without an event for initialEventsSilence.
	errSilent = errors.New("neither initial events nor their end arrive")

	// errEncoding is returned for a response in an encoding that was not accepted.
	errEncoding = errors.New("unexpected encoding")
)

// classify wraps an error in the sentinel errors by which the reflector decides how to go on.
func classify(err error) error {
	switch {
	case errors.Is(err, discovery.ErrNotCacheable):
		return fmt.Errorf("%w: %w", err, reflector.ErrAbsent)
	case errors.Is(err, discovery.ErrChanged), errors.Is(err, discovery.ErrUpgraded):
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
		err = &cache.RetryAfterError{After: time.Duration(seconds) * time.Second, Err: err}
	}
	return err
}

// listInstead wraps the error of a streaming list in reflector.ErrListInstead if the apiserver may
// still serve an ordinary list: it responds 500 if it cannot ask etcd for its progress, and 504 if its
// watch cache does not become fresh in time. client-go's reflector falls back to a list as well.
func listInstead(err error) error {
	if apierrors.IsInternalError(err) || apierrors.IsTimeout(err) || errors.Is(err, errSilent) || refused(err) {
		return fmt.Errorf("%w: %w", err, reflector.ErrListInstead)
	}
	return err
}

// refused reports whether the apiserver refused the parameters of a request.
func refused(err error) bool { return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) }

// malformed wraps the error of an event in reflector.ErrUnreadable, unless it tells to rebuild the
// store.
func malformed(err error) error {
	if err == nil || errors.Is(err, reflector.ErrRebuild) {
		return err
	}
	return fmt.Errorf("%w: %w", reflector.ErrUnreadable, err)
}
