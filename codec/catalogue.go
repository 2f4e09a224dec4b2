package codec

import "fmt"

// This file holds the errors of wire.md 10 that Sluice gives itself; all others it leaves to the apiserver.

// GroupResource names a resource in messages: "configmaps", "foos.ex.io".
type GroupResource struct {
	Group, Resource string
}

// String returns the resource, qualified by its group if it has one.
func (g GroupResource) String() string {
	if g.Group == "" {
		return g.Resource
	}
	return g.Resource + "." + g.Group
}

// NewBadRequest is a 400: the request's text cannot be understood.
func NewBadRequest(message string) *Status {
	return &Status{Message: message, Reason: "BadRequest", Code: 400}
}

// NewForbiddenPath is a 403 about a path that is not a resource; why says who cannot do what. Encode it with an
// [ErrorFormat] without CBOR.
func NewForbiddenPath(why string) *Status {
	return &Status{Message: "forbidden: " + why, Reason: "Forbidden", Details: &Details{}, Code: 403}
}

// NewNotFound is a 404 about an object.
func NewNotFound(r GroupResource, name string) *Status {
	return &Status{
		Message: fmt.Sprintf("%s %q not found", r, name), Reason: "NotFound", Code: 404,
		Details: &Details{Name: name, Group: r.Group, Kind: r.Resource},
	}
}

// NewExpired is a 410 with the given message.
func NewExpired(message string) *Status {
	return &Status{Message: message, Reason: "Expired", Code: 410}
}

// NewListExpired is the 410 of a list at a version that is gone.
func NewListExpired() *Status {
	return NewExpired("The resourceVersion for the provided list is too old.")
}

// NewWatchExpired is the 410 of a watch from rv when oldest is the oldest version that can be served. It goes out as an
// ERROR event of a stream with status 200 (wire.md 7.7).
func NewWatchExpired(rv, oldest uint64) *Status {
	return NewExpired(fmt.Sprintf("too old resource version: %d (%d)", rv, oldest))
}

// NewEntityTooLarge is the 413 of a request body of more than limit bytes.
func NewEntityTooLarge(limit int) *Status {
	return &Status{
		Message: fmt.Sprintf("Request entity too large: limit is %d", limit),
		Reason:  "RequestEntityTooLarge", Code: 413,
	}
}

// NewNotAcceptable is a 406 with the given message.
func NewNotAcceptable(message string) *Status { return refuse(message) }

// NewTooManyRequests is a 429 to be tried again after the given seconds.
func NewTooManyRequests(message string, seconds int) *Status {
	return &Status{
		Message: message, Reason: "TooManyRequests", Code: 429,
		Details: &Details{RetryAfterSeconds: seconds},
	}
}

// NewServerError is a 500 without a reason, as the apiserver gives for errors of no known kind.
func NewServerError(message string) *Status { return &Status{Message: message, Code: 500} }

// NewServiceUnavailable is a 503.
func NewServiceUnavailable(message string) *Status {
	return &Status{Message: message, Reason: "ServiceUnavailable", Code: 503}
}
