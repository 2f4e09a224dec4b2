package history

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Type is the type of an event, as in the API.
type Type string

// The types of events.
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
	// Object is the new object, or for Deleted the last one with the version of the deletion.
	Object *Object
}

func (e Event) String() string { return fmt.Sprintf("%s %s", e.Type, e.Object) }

// Log is the ground truth of a resource: its state at one version and every event after that, in
// order.
type Log struct {
	Start  uint64    // version of State
	State  []*Object // in any order
	Events []Event
}

// errLog is returned when the events of a log contradict each other.
var errLog = errors.New("contradiction in the log")

// Valid returns an error if the events of the log contradict each other.
func (l *Log) Valid() error {
	s := l.replay()
	last := l.Start
	for _, e := range l.Events {
		before := s.objects[e.Object.Key]
		if e.Version <= last {
			return fmt.Errorf("%s after version %d: %w", e, last, errLog)
		}
		if (before == nil) != (e.Type == Added) {
			return fmt.Errorf("%s, but the object was %s: %w", e, before, errLog)
		}
		if e.Type == Deleted && e.Object.Content != before.Content {
			return fmt.Errorf("%s differs from %s in content: %w", e, before, errLog)
		}
		last = e.Version
		s.apply(e)
	}
	return nil
}

// At returns the state at a version by key. Before Start, this is the state at Start.
func (l *Log) At(version uint64) map[string]*Object {
	s := l.replay()
	s.advance(version)
	return s.objects
}

// In returns the events that a watch of the scope delivers: an object that begins to match is
// added, one that no longer matches is deleted (wire.md 7.5).
func (l *Log) In(scope Scope) ([]Event, error) {
	match, err := scope.Match()
	if err != nil {
		return nil, err
	}
	s := l.replay()
	var events []Event
	for _, e := range l.Events {
		before := s.objects[e.Object.Key]
		s.apply(e)
		now := s.objects[e.Object.Key]
		switch was, is := match(before), match(now); {
		case was && is:
			events = append(events, Event{Modified, e.Version, now})
		case is:
			events = append(events, Event{Added, e.Version, now})
		case was:
			events = append(events, Event{Deleted, e.Version, before.WithVersion(e.Version)})
		}
	}
	return events, nil
}

// replay is a state of a log that moves forward.
type replay struct {
	log     *Log
	next    int // index of the first event that has not been applied
	objects map[string]*Object
}

func (l *Log) replay() *replay {
	s := &replay{log: l, objects: make(map[string]*Object, len(l.State))}
	for _, o := range l.State {
		s.objects[o.Key] = o
	}
	return s
}

// advance applies the events up to a version.
func (s *replay) advance(version uint64) {
	for ; s.next < len(s.log.Events) && s.log.Events[s.next].Version <= version; s.next++ {
		s.apply(s.log.Events[s.next])
	}
}

func (s *replay) apply(e Event) {
	if e.Type == Deleted {
		delete(s.objects, e.Object.Key)
		return
	}
	s.objects[e.Object.Key] = e.Object
}

// sorted returns the objects in the order of keys.
func sorted(objects map[string]*Object) []*Object {
	all := make([]*Object, 0, len(objects))
	for _, key := range slices.Sorted(maps.Keys(objects)) {
		all = append(all, objects[key])
	}
	return all
}
