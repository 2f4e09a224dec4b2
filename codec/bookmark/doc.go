// Package bookmark makes the objects of BOOKMARK events: the zero object of a kind with a resource version,
// and the annotation k8s.io/initial-events-end on the bookmark that ends the initial events of a watch
// (wire.md 7.6).
//
// There is one constructor for each form in which a resource is stored; each returns an [Encoder] that
// appends such objects in the same form.
package bookmark

import "errors"

// ErrNoTemplate is returned for typed resources stored as JSON before the apiserver has sent a bookmark of
// them, or if that is not an object with metadata.
var ErrNoTemplate = errors.New("no bookmark template")

// Encoder appends the object of a bookmark with a resource version. initialEventsEnd adds the annotation
// that ends the initial events. It is safe for concurrent use.
type Encoder func(dst []byte, resourceVersion string, initialEventsEnd bool) ([]byte, error)
