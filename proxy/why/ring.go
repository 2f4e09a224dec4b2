package why

import (
	"cmp"
	"hash/maphash"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"sluice/proxy/clients"
)

const (
	// perOutcome is how many requests of authenticated callers are kept of each outcome, and ofStrangers how many of the others,
	// which push out only each other's.
	perOutcome  = 200
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
	kept [len(clients.Outcomes)][2]queue // of authenticated callers, and of the others
}

// queue has the last requests of some callers, the oldest first.
type queue []*slot

// next returns the slot of the next request. A user who has a quarter of them pushes out its own.
func (q *queue) next(user uint64, most int) *slot {
	if len(*q) < most {
		*q = append(*q, &slot{})
		return (*q)[len(*q)-1]
	}
	own, oldest := 0, 0
	for i, s := range slices.Backward(*q) {
		if s.user == user {
			own++
			oldest = i
		}
	}
	if own < most/4 {
		oldest = 0
	}
	s := (*q)[oldest]
	copy((*q)[oldest:], (*q)[oldest+1:])
	(*q)[most-1] = s
	return s
}

// slot is a request. The text has everything that a client may have chosen.
type slot struct {
	at     time.Time
	user   uint64 // a hash
	code   int
	source string
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
	Source string // a constant: cache, upstream or gateway
	Reason string // a constant
	End    string // how a watch has ended, a constant; empty while it is open, and of other requests
	Exists bool   // it is known that the resource exists
	Known  bool   // the caller is authenticated

	Verb, User, Agent        string
	Resource, Version, Group string
}

var seed = maphash.MakeSeed()

// Add keeps a request.
func (r *Ring) Add(outcome clients.Outcome, q *Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	caller, size := 1, ofStrangers
	if q.Known {
		caller, size = 0, perOutcome
	}
	user := maphash.String(seed, q.User)
	s := r.kept[outcome][caller].next(user, size)
	*s = slot{
		at: time.Now(), user: user, code: q.Code, source: q.Source, reason: q.Reason, end: q.End, exists: q.Exists, known: q.Known, text: s.text[:0],
	}
	for i, text := range [texts]string{q.Verb, q.User, q.Agent, q.Resource, q.Version, q.Group} {
		s.text = append(s.text, text[:min(len(text), max(mostText-len(s.text), 0))]...)
		s.ends[i] = uint16(len(s.text))
	}
}

// Seen is a kept request as each reader of the metrics may see it.
type Seen struct {
	At       time.Time `json:"at"`
	Outcome  string    `json:"outcome"`
	Source   string    `json:"source"` // cache, upstream, or gateway if Sluice has answered
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

// Last returns the requests of an outcome that a query selects by user, verb, code and ended, the newest first.
func (r *Ring) Last(outcome clients.Outcome, q url.Values, names bool) []Seen {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := []Seen{}
	for _, of := range r.kept[outcome] {
		for _, slot := range of {
			s := slot.seen(names)
			s.Outcome = clients.Outcomes[outcome]
			if strings.Contains(s.User, q.Get("user")) && (q.Get("verb") == "" || strings.EqualFold(s.Verb, q.Get("verb"))) &&
				(q.Get("code") == "" || q.Get("code") == strconv.Itoa(s.Code)) && (q.Get("ended") == "" || s.End != "") {
				all = append(all, s)
			}
		}
	}
	return Newest(all, len(all))
}

// Newest sorts requests, the newest first, and returns at most n of them.
func Newest(all []Seen, n int) []Seen {
	slices.SortStableFunc(all, func(a, b Seen) int { return b.At.Compare(a.At) })
	return all[:min(len(all), n)]
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
		At: s.at, Source: s.source, Reason: s.reason, Code: s.code, End: s.end,
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
