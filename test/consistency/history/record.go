package history

import (
	"fmt"
	"strings"
)

// History is all that is known of one resource.
type History struct {
	Log     Log
	Writes  []Write
	Reads   []Read
	Gets    []Get
	Watches []Watch
	Notes   []Note // what else happened; it is only printed
}

// Write is a write that was acknowledged.
type Write struct {
	Client  string
	Verb    string // create, update or delete
	Key     string
	UID     string
	Version uint64 // 0 for a deletion, whose acknowledgement does not tell it
	Began   Tick
	Ended   Tick // when it was acknowledged
}

func (w *Write) String() string {
	return fmt.Sprintf("%s: %s %s, version %d [%d-%d]", w.Client, w.Verb, w.Key, w.Version, w.Began, w.Ended)
}

// Promise is what the parameters of a read ask for. Neither of all means any
// state.
type Promise struct {
	Fresh   bool   // the most recent state
	AtLeast uint64 // a state not older than this version; 0 for none
	Exact   uint64 // the state at this version; 0 for none
}

func (p Promise) String() string {
	switch {
	case p.Fresh:
		return "most recent"
	case p.AtLeast > 0:
		return fmt.Sprintf("not older than %d", p.AtLeast)
	case p.Exact > 0:
		return fmt.Sprintf("at %d", p.Exact)
	}
	return "any"
}

// Read is a list that was answered: in one piece, in pages, or as a stream
// whose last item is the bookmark that ends the state.
type Read struct {
	Client  string
	Scope   Scope
	Promise Promise
	Began   Tick
	Ended   Tick
	Pages   []Page
	Stream  []Item // instead of pages
}

// Page is one answer to a list.
type Page struct {
	Version   uint64
	Items     []*Object
	Limit     int    // that was asked for; 0 for none
	More      bool   // the answer says that there are more
	Remaining *int64 // how many, if the answer says so
	Source    string // who answered
}

// version is the one that the read claims. Pages must agree on it.
func (r *Read) version() uint64 {
	if len(r.Stream) > 0 {
		return r.Stream[len(r.Stream)-1].Version
	}
	return r.Pages[0].Version
}

func (r *Read) String() string {
	how := fmt.Sprintf("a stream of %d", len(r.Stream))
	if len(r.Stream) == 0 {
		var pages []string
		for _, p := range r.Pages {
			pages = append(pages, fmt.Sprintf("%d from %s", len(p.Items), p.Source))
		}
		how = strings.Join(pages, " + ")
	}
	return fmt.Sprintf("%s: list of %s, %s [%d-%d]: version %d, %s", r.Client, r.Scope, r.Promise, r.Began, r.Ended, r.version(), how)
}

// Get is a read of one object that was answered, if only by saying that there
// is none.
type Get struct {
	Client  string
	Key     string
	Promise Promise
	Began   Tick
	Ended   Tick
	Object  *Object // nil if it was not found
	Source  string
}

func (g *Get) String() string {
	return fmt.Sprintf("%s: get of %s, %s [%d-%d]: %s from %s", g.Client, g.Key, g.Promise, g.Began, g.Ended, g.Object, g.Source)
}

// Watch is a line of events: a client resumes it on a new connection from the
// last version that it was told.
type Watch struct {
	Client string
	Scope  Scope
	From   uint64
	Items  []Item
	Until  uint64 // everything up to this version must be told in the end; 0 asks for nothing
}

func (w *Watch) String() string {
	return fmt.Sprintf("%s: watch of %s from %d", w.Client, w.Scope, w.From)
}

// Item is one event or bookmark as it was received.
type Item struct {
	Type    Type
	Version uint64
	Object  *Object // nil for a bookmark
	At      Tick
	Stream  int    // which connection of the line
	Source  string // who answered on it
}

func (i *Item) String() string {
	what := "up to " + fmt.Sprint(i.Version)
	if i.Object != nil {
		what = i.Object.String()
	}
	return fmt.Sprintf("%s %s [%d] on stream %d from %s", i.Type, what, i.At, i.Stream, i.Source)
}

// Note is something that happened, such as a fault.
type Note struct {
	At   Tick
	Text string
}
