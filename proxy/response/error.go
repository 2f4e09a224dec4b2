package response

import (
	"errors"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/codec"
	"sluice/codec/negotiate"
	"sluice/proxy/message"
	"sluice/proxy/request"
)

// Negotiation returns the part of a request that negotiation reads.
func Negotiation(r *http.Request, p *request.Parsed) negotiate.Request {
	return negotiate.Request{
		Accept:        r.Header.Get("Accept"),
		Pretty:        request.Pretty(r.URL.RawQuery, p.Query),
		UserAgent:     r.UserAgent(),
		IncludeObject: p.Query.Get("includeObject"),
	}
}

// Error answers the request with an error, as a Status in the encoding that the client accepts. An
// error that is no APIStatus becomes a 500 without a reason, as at the apiserver. Nothing may have
// been written before.
func Error(w http.ResponseWriter, r *http.Request, err error) {
	info := request.From(r.Context())
	status := statusOf(err)
	format := negotiate.ErrorFormat(Negotiation(r, &info.Parsed), true)
	h := w.Header()
	Headers(h, &info.Parsed)
	h.Set("Content-Type", format.ContentType(false))
	if d := status.Details; d != nil && d.RetryAfterSeconds > 0 {
		h.Set("Retry-After", strconv.Itoa(int(d.RetryAfterSeconds)))
	}
	w.WriteHeader(int(status.Code))
	// An error here means that the client is gone.
	_, _ = w.Write(codec.AppendStatus(nil, &status, format))
}

func statusOf(err error) metav1.Status {
	var known apierrors.APIStatus
	if errors.As(err, &known) {
		return known.Status()
	}
	return NewServerError(err.Error()).ErrStatus
}

// NewServerError returns a 500 without a reason, which the apiserver gives for errors of no known kind.
// Package errors of apimachinery has none.
func NewServerError(message string) *apierrors.StatusError {
	return newError(http.StatusInternalServerError, metav1.StatusReasonUnknown, message)
}

// RetryAfter is the Retry-After of the errors that pass by themselves, in seconds, as the apiserver
// gives it.
const RetryAfter = 1

// NewUnavailable returns a 503 that tells the client to try again after RetryAfter.
func NewUnavailable(message string) *apierrors.StatusError {
	err := apierrors.NewServiceUnavailable(message)
	err.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: RetryAfter}
	return err
}

// NewBodyTimeout returns the 408 for a request body that the client has not sent in time.
func NewBodyTimeout() *apierrors.StatusError {
	return newError(http.StatusRequestTimeout, metav1.StatusReasonTimeout, message.SlowBody.Say())
}

// NewNotAcceptable returns a 406, of which package errors of apimachinery has none.
func NewNotAcceptable(message string) *apierrors.StatusError {
	return newError(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable, message)
}

// NewHeaderTooLarge returns a 431, of which package errors of apimachinery has none.
func NewHeaderTooLarge(message string) *apierrors.StatusError {
	return newError(http.StatusRequestHeaderFieldsTooLarge, metav1.StatusReasonRequestEntityTooLarge, message)
}

func newError(code int32, reason metav1.StatusReason, message string) *apierrors.StatusError {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message,
	}}
}
