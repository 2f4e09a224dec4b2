package history

import (
	"fmt"
	"strings"
)

// History is everything that was recorded about one resource.
type History struct {
	Log     Log
	Writes  []Write
	Reads   []Read
	Gets    []Get
	Watches []Watch
	Notes   []Note // printed in excerpts only
}

// Write is an acknowledged write.
type Write struct {
	Client  string
	Verb    string // PATCH or DELETE
	Key     string
	UID     string
	Version uint64 // 0 for a deletion, whose acknowledgement does not have it
	Began   Tick
	Ended   Tick // when it was acknowledged
}

func (w *Write) String() string {
	return fmt.Sprintf("%s: %s %s, version %d [%d-%d]", w.Client, w.Verb, w.Key, w.Version, w.Began, w.Ended)
}

// Consistency is the state that a read asks for by its parameters resourceVersion and
// resourceVersionMatch. The zero value allows any state.
type Consistency struct {
	MostRecent   bool   // the state at or after the beginning of the read
	NotOlderThan uint64 // a state at this version or a later one; 0 for none
	Exact        uint64 // the state at this version; 0 for none
}

func (c Consistency) String() string {
	switch {
	case c.MostRecent:
		return "most recent"
	case c.NotOlderThan > 0:
		return fmt.Sprintf("not older than %d", c.NotOlderThan)
	case c.Exact > 0:
		return fmt.Sprintf("exactly %d", c.Exact)
	}
	return "any"
}

// Read is an answered list: in one response, in pages, or as a streaming list whose last item is
// the bookmark that ends the initial events.
type Read struct {
	Client      string
	Scope       Scope
	Consistency Consistency
	Began       Tick
	Ended       Tick
	Pages       []Page
	Stream      []Item // instead of Pages
}

// Page is one response to a list.
type Page struct {
	Version   uint64
	Items     []*Object
	Limit     int    // of the request; 0 for none
	More      bool   // the response has a continue token
	Remaining *int64 // remainingItemCount, if the response has one
	Source    string // the server that answered
}

// version returns the resource version of the read.
func (r *Read) version() uint64 {
	if len(r.Stream) > 0 {
		return r.Stream[len(r.Stream)-1].Version
	}
	return r.Pages[0].Version
}

func (r *Read) String() string {
	form := fmt.Sprintf("a stream of %d", len(r.Stream))
	if len(r.Stream) == 0 {
		var pages []string
		for _, p := range r.Pages {
			pages = append(pages, fmt.Sprintf("%d from %s", len(p.Items), p.Source))
		}
		form = strings.Join(pages, " + ")
	}
	return fmt.Sprintf("%s: list of %s, %s [%d-%d]: version %d, %s", r.Client, r.Scope, r.Consistency, r.Began, r.Ended, r.version(), form)
}

// Get is an answered get of one object.
type Get struct {
	Client      string
	Key         string
	Consistency Consistency
	Began       Tick
	Ended       Tick
	Object      *Object // nil if the answer was NotFound
	Source      string
}

func (g *Get) String() string {
	return fmt.Sprintf("%s: get of %s, %s [%d-%d]: %s from %s", g.Client, g.Key, g.Consistency, g.Began, g.Ended, g.Object, g.Source)
}

// Watch is the sequence of events that a client receives over several connections: it resumes the
// watch on a new connection from the last version that it received.
type Watch struct {
	Client string
	Scope  Scope
	From   uint64
	Items  []Item
	Until  uint64 // every event up to this version must be in Items; 0 for none
}

func (w *Watch) String() string {
	return fmt.Sprintf("%s: watch of %s from %d", w.Client, w.Scope, w.From)
}

// Item is one received event or bookmark.
type Item struct {
	Type    Type
	Version uint64
	Object  *Object // nil for a bookmark
	At      Tick
	Stream  int    // number of the connection
	Source  string // the server that answered
}

func (i *Item) String() string {
	what := "up to " + fmt.Sprint(i.Version)
	if i.Object != nil {
		what = i.Object.String()
	}
	return fmt.Sprintf("%s %s [%d] on stream %d from %s", i.Type, what, i.At, i.Stream, i.Source)
}

// Note is something else that happened, such as a fault.
type Note struct {
	At   Tick
	Text string
}
