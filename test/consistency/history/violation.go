package history

import (
	"fmt"
	"strings"
)

// Kind is the promise that a violation breaks.
type Kind string

// The kinds of violations.
const (
	Stale          Kind = "stale read"              // a consistent read misses an acknowledged write or an observed version
	TimeTravel     Kind = "time travel"             // the consistent reads of a client go back
	Future         Kind = "version from the future" // a version is delivered before it exists
	Version        Kind = "wrong version"           // a read has another version than it asked for
	Missing        Kind = "missing object"          // an object of the state is not in the list
	Extra          Kind = "extra object"            // an object of the list is not in the state
	Content        Kind = "wrong content"           // an object or event has another content than in the log
	Duplicate      Kind = "duplicate object"        // a list has an object twice
	Unordered      Kind = "objects out of order"    // a list is not in the order of keys
	PageState      Kind = "pages of several states" // the pages of one list differ in version
	PageSize       Kind = "wrong size of page"      // a page exceeds the limit or has a wrong remainingItemCount
	Gap            Kind = "gap in a watch"          // an event is missing
	Repeated       Kind = "repetition in a watch"   // an event is delivered twice
	Reordered      Kind = "watch out of order"      // an event is delivered late
	Invented       Kind = "invented event"          // an event is not in the log
	FalseBookmark  Kind = "false bookmark"          // a bookmark has a version whose events were not delivered
	Incomplete     Kind = "incomplete watch"        // the last events are not delivered
	LostWrite      Kind = "acknowledged write lost" // an acknowledged write is not in the log
	InvalidHistory Kind = "invalid history"         // the test itself is wrong
)

// Violation is one broken promise.
type Violation struct {
	Kind    Kind
	At      Tick
	Text    string
	Excerpt []string // the part of the history that shows it
}

func (v Violation) String() string {
	return fmt.Sprintf("%s: %s\n\t%s", v.Kind, v.Text, strings.Join(v.Excerpt, "\n\t"))
}
