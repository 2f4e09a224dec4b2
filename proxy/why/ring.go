package why

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The classes of the requests that are kept.
const (
	KeptPassed = iota
	KeptServed
	KeptRefused
	KeptFailed

	classes
)

// Classes are the names of the classes.
var Classes = [classes]string{"passed", "served", "refused", "failed"}

const (
	// perClass is how many requests of authenticated callers are kept of each class, and ofStrangers how many of the others,
	// which push out only each other's.
	perClass    = 200
	ofStrangers = 50
	// mostText bounds the text of one request, so that all of them take less than a MiB.
	mostText = 800
)

// The texts of a request.
const (
	textVerb = iota
	textUser
	textAgent
	textResource
	textVersion
	textGroup

	texts
)

// Ring keeps the last requests. Its memory is bounded; it is safe for concurrent use.
type Ring struct {
	mu   sync.Mutex
	kept [classes][len(callers)]queue
}

// callers begin the numbers of requests: of authenticated callers, and of the others.
var callers = [...]string{"", "unknown-"}

// queue has the last requests of some callers.
type queue struct {
	n     int64 // that were added
	slots []slot
}

// next returns the slot of the next request.
func (k *queue) next(size int) *slot {
	if k.slots == nil {
		k.slots = make([]slot, size)
	}
	s := &k.slots[k.n%int64(size)]
	k.n++
	return s
}

// oldest returns the number of the first request that is still kept.
func (k *queue) oldest() int64 { return max(0, k.n-int64(len(k.slots))) }

// slot is a request. The text has everything that a client may have chosen.
type slot struct {
	at     time.Time
	code   int
	reason string
	end    string
	exists bool // the resource
	known  bool // the caller is authenticated
	ends   [texts]uint16
	text   []byte
}

// Request is a request that has ended, or a watch that was opened.
type Request struct {
	Code   int
	Reason string // a constant
	End    string // how a watch has ended, a constant; empty while it is open, and of other requests
	Exists bool   // it is known that the resource exists
	Known  bool   // the caller is authenticated

	Verb, User, Agent        string
	Resource, Version, Group string
}

// Add keeps a request.
func (r *Ring) Add(class int, q *Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	caller, size := 1, ofStrangers
	if q.Known {
		caller, size = 0, perClass
	}
	s := r.kept[class][caller].next(size)
	*s = slot{at: time.Now(), code: q.Code, reason: q.Reason, end: q.End, exists: q.Exists, known: q.Known, text: s.text[:0]}
	for i, text := range [texts]string{q.Verb, q.User, q.Agent, q.Resource, q.Version, q.Group} {
		s.text = append(s.text, text[:min(len(text), max(mostText-len(s.text), 0))]...)
		s.ends[i] = uint16(len(s.text))
	}
}

// Seen is a kept request as each reader of the metrics may see it.
type Seen struct {
	ID       string    `json:"id"`
	At       time.Time `json:"at"`
	Class    string    `json:"class"`
	Reason   string    `json:"reason"`
	Code     int       `json:"code"`
	End      string    `json:"end,omitempty"` // how a watch has ended
	Verb     string    `json:"verb"`
	Resource string    `json:"resource"` // Hidden if it may not exist
	User     string    `json:"user"`     // Hidden where no names are shown, as Agent
	Agent    string    `json:"agent"`
}

// Hidden replaces a text that the reader may not see.
const Hidden = "…"

// Last returns the requests of a class, the newest first.
func (r *Ring) Last(class int, names bool) []Seen {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []Seen
	for caller := range r.kept[class] {
		k := &r.kept[class][caller]
		for n := k.n - 1; n >= k.oldest(); n-- {
			all = append(all, k.seen(class, caller, n, names))
		}
	}
	slices.SortStableFunc(all, func(a, b Seen) int { return b.At.Compare(a.At) })
	return all
}

// Find returns a request by its ID.
func (r *Ring) Find(id string, names bool) (Seen, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for class := range r.kept {
		for caller := range r.kept[class] {
			k := &r.kept[class][caller]
			number, found := strings.CutPrefix(id, idOf(class, caller))
			if n, err := strconv.ParseInt(number, 10, 64); found && err == nil && n >= k.oldest() && n < k.n {
				return k.seen(class, caller, n, names), true
			}
		}
	}
	return Seen{}, false
}

// idOf returns the part before the number of a request.
func idOf(class, caller int) string { return Classes[class] + "-" + callers[caller] }

// seen returns the request with a number.
func (k *queue) seen(class, caller int, n int64, names bool) Seen {
	s := k.slots[n%int64(len(k.slots))].seen(names)
	s.ID, s.Class = idOf(class, caller)+strconv.FormatInt(n, 10), Classes[class]
	return s
}

func (s *slot) seen(names bool) Seen {
	text := func(i int) string {
		from := uint16(0)
		if i > 0 {
			from = s.ends[i-1]
		}
		return string(s.text[from:s.ends[i]])
	}
	q := Seen{
		At: s.at, Reason: s.reason, Code: s.code, End: s.end,
		Verb: text(textVerb), Resource: Hidden, User: Hidden, Agent: Hidden,
	}
	if s.exists {
		q.Resource = strings.TrimRight(text(textResource)+"."+text(textVersion)+"."+text(textGroup), ".")
	}
	if names {
		q.User = cmp.Or(text(textUser), "nobody")
		if s.known { // else anybody may have written it
			q.Agent = text(textAgent)
		}
	}
	return q
}

// Explain describes the outcome of the request.
func (s *Seen) Explain() *Explanation {
	answer := fmt.Sprintf("%s %s, %s, code %d", s.Verb, s.Resource, s.At.UTC().Format("15:04:05 UTC"), s.Code)
	if s.End != "" {
		answer += ", ended: " + s.End
	}
	return New(s.Class, s.Reason, answer)
}
