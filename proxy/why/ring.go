package why

import (
	"cmp"
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
	// mostText bounds each text of a request, so that all of them take less than 2 MiB.
	mostText = 253
)

// Ring keeps the last requests. Its memory is bounded; it is safe for concurrent use.
type Ring struct {
	mu   sync.Mutex
	kept [len(clients.Outcomes)][2]queue // of authenticated callers, and of the others
}

// queue has the last requests of some callers, the oldest first.
type queue []*slot

// add adds a request. A user who has a quarter of them pushes out its own.
func (q *queue) add(s *slot, most int) {
	if len(*q) == most {
		own, oldest := 0, 0
		for i, o := range slices.Backward(*q) {
			if o.User == s.User {
				own++
				oldest = i
			}
		}
		if own < most/4 {
			oldest = 0
		}
		*q = slices.Delete(*q, oldest, oldest+1)
	}
	*q = append(*q, s)
}

// slot has a request, and when it was kept.
type slot struct {
	Request
	at time.Time
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

// Add keeps a request.
func (r *Ring) Add(outcome clients.Outcome, q *Request) {
	caller, size, kept := 1, ofStrangers, *q
	if q.Known {
		caller, size = 0, perOutcome
	}
	for _, text := range []*string{&kept.Verb, &kept.User, &kept.Agent, &kept.Resource, &kept.Version, &kept.Group} {
		*text = strings.Clone((*text)[:min(len(*text), mostText)]) // else it may keep a whole request in memory
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept[outcome][caller].add(&slot{kept, time.Now()}, size)
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

// Last returns the requests of an outcome that a query selects by user, resource, verb, code and ended, the newest first.
func (r *Ring) Last(outcome clients.Outcome, q url.Values, names bool) []Seen {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := []Seen{}
	for _, of := range r.kept[outcome] {
		for _, slot := range of {
			s := slot.seen(names)
			s.Outcome = clients.Outcomes[outcome]
			if strings.Contains(s.User, q.Get("user")) && strings.Contains(s.Resource, q.Get("resource")) && (q.Get("verb") == "" || strings.EqualFold(s.Verb, q.Get("verb"))) &&
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
	q := Seen{At: s.at, Source: s.Source, Reason: s.Reason, Code: s.Code, End: s.End, Verb: s.Verb, Resource: clients.Hidden, User: clients.Hidden, Agent: clients.Hidden}
	if s.Exists {
		q.Resource = strings.TrimRight(s.Resource+"."+s.Version+"."+s.Group, ".")
	}
	if names {
		q.User = cmp.Or(s.User, "nobody")
		if s.Known { // else anybody may have written it
			q.Agent = s.Agent
		}
	}
	return q
}
