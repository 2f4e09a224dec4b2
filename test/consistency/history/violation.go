package history

import (
	"fmt"
	"strings"
)

// Kind is the promise that is broken.
type Kind string

// What can be found.
const (
	Stale      Kind = "stale read"                 // a write that was acknowledged, or a version that was told, is not in it
	TimeTravel Kind = "time travel"                // a client's consistent reads go back
	Future     Kind = "version from the future"    // a version is told before it exists
	Version    Kind = "wrong version"              // not the version that was asked for
	Missing    Kind = "missing object"             // an object of the state is not in the list
	Extra      Kind = "extra object"               // an object of the list is not in the state
	Content    Kind = "wrong content"              // an object or event is not as it was
	Duplicate  Kind = "duplicate object"           // an object is twice in a list
	Disorder   Kind = "objects out of order"       // a list is not in the order of keys
	PageState  Kind = "pages of several states"    // pages of one list differ in version
	PageSize   Kind = "wrong size of page"         // more than the limit, or a wrong remaining count
	Gap        Kind = "gap in a watch"             // an event was left out
	Repeated   Kind = "repetition in a watch"      // an event came twice
	Reordered  Kind = "watch out of order"         // an event came late
	Invented   Kind = "invented event"             // an event never happened
	Lie        Kind = "bookmark that lies"         // it claims a version whose events had not come
	Unfinished Kind = "watch without an end"       // events never came
	Lost       Kind = "acknowledged write lost"    // the log does not have it
	Broken     Kind = "the history makes no sense" // the test itself is wrong
)

// Violation is a promise that is broken.
type Violation struct {
	Kind    Kind
	At      Tick
	Text    string
	Excerpt []string // the part of the history that shows it
}

func (v Violation) String() string {
	return fmt.Sprintf("%s: %s\n\t%s", v.Kind, v.Text, strings.Join(v.Excerpt, "\n\t"))
}
