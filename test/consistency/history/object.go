package history

import (
	"fmt"
	"strings"
)

// Object is one state of one object. It must not be changed once it is part of
// a history.
type Object struct {
	Key     string // namespace/name
	UID     string
	Version uint64
	Labels  map[string]string
	Fields  map[string]string // that field selectors know, beside name and namespace
	Content string            // everything but the version, in a form that can be compared
}

// Namespace is that of the object.
func (o *Object) Namespace() string {
	namespace, _, _ := strings.Cut(o.Key, "/")
	return namespace
}

// Name is that of the object.
func (o *Object) Name() string {
	_, name, _ := strings.Cut(o.Key, "/")
	return name
}

// equal compares two states, either of which may be missing.
func (o *Object) equal(p *Object) bool {
	if o == nil || p == nil || o == p {
		return o == p
	}
	return o.Key == p.Key && o.Version == p.Version && o.Content == p.Content
}

// Under is the object with another version, as the last event of its life
// shows it.
func (o *Object) Under(version uint64) *Object {
	last := *o
	last.Version = version
	return &last
}

// mostContent bounds what is printed of an object.
const mostContent = 300

func (o *Object) String() string {
	if o == nil {
		return "nothing"
	}
	return fmt.Sprintf("%s@%d", o.Key, o.Version)
}

// full is the object with what is in it.
func (o *Object) full() string {
	if o == nil {
		return "nothing"
	}
	return fmt.Sprintf("%s %.*s", o, mostContent, o.Content)
}
