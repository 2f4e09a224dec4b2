package history

import (
	"fmt"
	"strings"
)

// Object is one revision of one object. It must not be changed once it is part of a history.
type Object struct {
	Key     string // namespace/name
	UID     string
	Version uint64
	Labels  map[string]string
	Fields  map[string]string // selectable fields, besides name and namespace
	Content string            // everything except the version, in a comparable form
}

// Namespace returns metadata.namespace.
func (o *Object) Namespace() string {
	namespace, _, _ := strings.Cut(o.Key, "/")
	return namespace
}

// Name returns metadata.name.
func (o *Object) Name() string {
	_, name, _ := strings.Cut(o.Key, "/")
	return name
}

// equal compares two revisions, either of which may be nil.
func (o *Object) equal(p *Object) bool {
	if o == nil || p == nil || o == p {
		return o == p
	}
	return o.Key == p.Key && o.Version == p.Version && o.Content == p.Content
}

// WithVersion returns a copy of the object with another version, as in a Deleted event.
func (o *Object) WithVersion(version uint64) *Object {
	c := *o
	c.Version = version
	return &c
}

// maxContent bounds the printed content of an object, in bytes.
const maxContent = 300

func (o *Object) String() string {
	if o == nil {
		return "nothing"
	}
	return fmt.Sprintf("%s@%d", o.Key, o.Version)
}

// full returns the object with its content, for excerpts.
func (o *Object) full() string {
	if o == nil {
		return "nothing"
	}
	return fmt.Sprintf("%s %.*s", o, maxContent, o.Content)
}
