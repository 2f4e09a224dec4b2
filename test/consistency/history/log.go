package history

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Type is that of an event.
type Type string

// The types of event.
const (
	Added    Type = "ADDED"
	Modified Type = "MODIFIED"
	Deleted  Type = "DELETED"
	Bookmark Type = "BOOKMARK"
)

// Event is one change of a resource.
type Event struct {
	Type    Type
	Version uint64
	// Object is the new state, or for Deleted the last one under the version
	// of the deletion.
	Object *Object
}

func (e Event) String() string { return fmt.Sprintf("%s %s", e.Type, e.Object) }

// Log is what really happened to a resource: its state at one version and
// every change after that, in order.
type Log struct {
	Start  uint64
	State  []*Object
	Events []Event
}

// errLog is returned when a log is no line of history.
var errLog = errors.New("not a line of history")

// Valid returns an error if the log is not one line of history.
func (l *Log) Valid() error {
	s := l.begin()
	last := l.Start
	for _, e := range l.Events {
		before := s.objects[e.Object.Key]
		if e.Version <= last {
			return fmt.Errorf("%s after version %d: %w", e, last, errLog)
		}
		if (before == nil) != (e.Type == Added) {
			return fmt.Errorf("%s, where there was %s: %w", e, before, errLog)
		}
		if e.Type == Deleted && e.Object.Content != before.Content {
			return fmt.Errorf("%s has other content than %s: %w", e, before, errLog)
		}
		last = e.Version
		s.apply(e)
	}
	return nil
}

// At returns the state at a version. Before the log starts, that is the state
// that it starts with.
func (l *Log) At(version uint64) map[string]*Object {
	s := l.begin()
	s.to(version)
	return s.objects
}

// In returns the events as a watch of the scope sees them: an object that
// enters the scope is added, one that leaves it is deleted (wire.md 7.5).
func (l *Log) In(scope Scope) ([]Event, error) {
	match, err := scope.Match()
	if err != nil {
		return nil, err
	}
	s := l.begin()
	var seen []Event
	for _, e := range l.Events {
		before := s.objects[e.Object.Key]
		s.apply(e)
		now := s.objects[e.Object.Key]
		switch was, is := match(before), match(now); {
		case was && is:
			seen = append(seen, Event{Modified, e.Version, now})
		case is:
			seen = append(seen, Event{Added, e.Version, now})
		case was:
			seen = append(seen, Event{Deleted, e.Version, before.Under(e.Version)})
		}
	}
	return seen, nil
}

// state is that of a log at one version, on its way forward.
type state struct {
	log     *Log
	next    int // index of the first event that has not been applied
	objects map[string]*Object
}

func (l *Log) begin() *state {
	s := &state{log: l, objects: make(map[string]*Object, len(l.State))}
	for _, o := range l.State {
		s.objects[o.Key] = o
	}
	return s
}

// to goes on to a version, which must not be before the state's.
func (s *state) to(version uint64) {
	for ; s.next < len(s.log.Events) && s.log.Events[s.next].Version <= version; s.next++ {
		s.apply(s.log.Events[s.next])
	}
}

func (s *state) apply(e Event) {
	if e.Type == Deleted {
		delete(s.objects, e.Object.Key)
		return
	}
	s.objects[e.Object.Key] = e.Object
}

// sorted is the state in the order of the keys.
func sorted(objects map[string]*Object) []*Object {
	all := make([]*Object, 0, len(objects))
	for _, key := range slices.Sorted(maps.Keys(objects)) {
		all = append(all, objects[key])
	}
	return all
}
