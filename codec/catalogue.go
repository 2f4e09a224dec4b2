package codec

import (
	"fmt"
	"strings"
)

// This file holds the errors of wire.md 10 that a gateway may have to give itself.

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

// NewInvalidVersion is the error for a resourceVersion that is not a number; err is strconv.ParseUint's. A list gets 400,
// a get or watch 500 without a reason (wire.md 4.3, 6, 7.3).
func NewInvalidVersion(v Verb, rv string, err error) *Status {
	message := fmt.Sprintf("resourceVersion: Invalid value: %q: %v", rv, err)
	if v == List {
		return NewBadRequest("invalid resource version: " + message)
	}
	return NewServerError(message)
}

// NewUnauthorized is a 401. Encode it with an [ErrorFormat] without CBOR.
func NewUnauthorized() *Status {
	return &Status{Message: "Unauthorized", Reason: "Unauthorized", Code: 401}
}

// NewForbidden is a 403 about a resource; name is empty for collections. why says who cannot do what, as [Denial] does.
// Encode it with an [ErrorFormat] without CBOR.
func NewForbidden(r GroupResource, name, why string) *Status {
	message := fmt.Sprintf("%s is forbidden: %s", r, why)
	if name != "" {
		message = fmt.Sprintf("%s %q is forbidden: %s", r, name, why)
	}
	return &Status{
		Message: message, Reason: "Forbidden", Code: 403,
		Details: &Details{Name: name, Group: r.Group, Kind: r.Resource},
	}
}

// NewForbiddenPath is a 403 about a path that is not a resource; why as for [NewForbidden].
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

// NewUnknownResource is a 404 about a path of a known group and version (wire.md 4.8).
func NewUnknownResource() *Status {
	return &Status{
		Message: "the server could not find the requested resource", Reason: "NotFound",
		Details: &Details{}, Code: 404,
	}
}

// NewMethodNotAllowed is a 405 of the router.
func NewMethodNotAllowed() *Status {
	return &Status{
		Message: "the server does not allow this method on the requested resource", Reason: "MethodNotAllowed",
		Details: &Details{}, Code: 405,
	}
}

// NewVerbNotSupported is a 405 of a resource that has the path but not the verb, such as a watch of componentstatuses.
func NewVerbNotSupported(r GroupResource, verb string) *Status {
	return &Status{
		Message: fmt.Sprintf("%s is not supported on resources of kind %q", verb, r), Reason: "MethodNotAllowed",
		Details: &Details{Group: r.Group, Kind: r.Resource}, Code: 405,
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

// NewContinueExpired is the 410 of a page whose version is gone; fallback is a continue token of the same place that
// goes on at the latest version (wire.md 4.4).
func NewContinueExpired(fallback string) *Status {
	s := NewExpired("The provided continue parameter is too old to display a consistent list result. " +
		"You can start a new list without the continue parameter, or use the continue token in this response to " +
		"retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list " +
		"- objects that were created, modified, or deleted between the time the first chunk was returned and now " +
		"may show up in the list.")
	s.Metadata.Continue = fallback
	return s
}

// NewUnsupportedMedia is the 415 of a request body in an unknown encoding.
func NewUnsupportedMedia(cbor bool) *Status {
	return &Status{
		Message: "the body of the request was in an unknown format - accepted media types include: " +
			strings.Join(mediaTypes(cbor), ", "),
		Reason: "UnsupportedMediaType", Code: 415,
	}
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

// NewInternalError is a 500 with a reason.
func NewInternalError(message string) *Status {
	return &Status{
		Message: "Internal error occurred: " + message, Reason: "InternalError", Code: 500,
		Details: &Details{Causes: []Cause{{Message: message}}},
	}
}

// NewServiceUnavailable is a 503.
func NewServiceUnavailable(message string) *Status {
	return &Status{Message: message, Reason: "ServiceUnavailable", Code: 503}
}

// NewTooLarge is the 504 of a resourceVersion that the server has not reached after waiting (wire.md 4.6). Uncached
// resources give no seconds: zero.
func NewTooLarge(rv, current uint64, seconds int) *Status {
	return &Status{
		Message: fmt.Sprintf("Timeout: Too large resource version: %d, current: %d", rv, current),
		Reason:  "Timeout", Code: 504,
		Details: &Details{
			Causes:            []Cause{{Reason: "ResourceVersionTooLarge", Message: "Too large resource version"}},
			RetryAfterSeconds: seconds,
		},
	}
}

// NewTimeout is a 504 with the given message.
func NewTimeout(message string, seconds int) *Status {
	return &Status{
		Message: "Timeout: " + message, Reason: "Timeout", Code: 504,
		Details: &Details{RetryAfterSeconds: seconds},
	}
}

// Denial is the "why" of a 403: who cannot do what where. The subresource and the namespace may be empty.
func Denial(user, verb string, r GroupResource, subresource, namespace string) string {
	resource := r.Resource
	if subresource != "" {
		resource += "/" + subresource
	}
	where := "at the cluster scope"
	if namespace != "" {
		where = fmt.Sprintf("in the namespace %q", namespace)
	}
	return fmt.Sprintf("User %q cannot %s resource %q in API group %q %s", user, verb, resource, r.Group, where)
}
