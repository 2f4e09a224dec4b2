package clients

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// Habits, each of which is the evidence of a hint.
const (
	listsAll = iota
	relists
	uncompressed
	jsonForProtobuf
	consistentLists
	polls
	numHabits
)

// rule is when a habit is worth a hint: so much within a time.
type rule struct {
	least  float32
	within time.Duration
	// regular is how much there must be of what comes regularly: then least is for everything else. 0 does not ask.
	regular float32
}

var rules = [numHabits]rule{
	listsAll:        {least: 30, within: 10 * time.Minute, regular: 6},
	relists:         {least: 5, within: 10 * time.Minute},
	uncompressed:    {least: 10e6, within: 5 * time.Minute}, // bytes
	jsonForProtobuf: {least: 15, within: 5 * time.Minute},   // seconds of CPU: 5 % of a core
	consistentLists: {least: 100, within: time.Hour},
	polls:           {least: 30, within: time.Minute},
}

const (
	longList    = 1 << 20
	longBody    = 128 << 10        // from which the apiserver compresses
	relistAfter = 10 * time.Second // of the end of the watch
	// keptFor is how long a habit is shown after it was last seen.
	keptFor = 15 * time.Minute
)

// habit is what one client does again and again. Programs that share a user share a row, so one client is observed at a
// time, by its address, and the next one after the time of the rule.
type habit struct {
	from        uint64
	start, last time.Duration // of the Table; last is 0 before the first
	n           uint32
	sum         float32
	least, most float32 // seconds between two

	held time.Duration // when the rule last held; 0 if it never did
	seen float32       // what was counted then
	over float32       // within so many seconds
}

// add counts what a client does.
func (h *habit) add(r *rule, from uint64, amount float32, now time.Duration) {
	if h.last == 0 || now-h.start > r.within {
		*h = habit{from: from, start: now, last: now, held: h.held, seen: h.seen, over: h.over}
	}
	if h.from != from {
		return
	}
	if gap := float32((now - h.last).Seconds()); h.n == 1 {
		h.least, h.most = gap, gap
	} else {
		h.least, h.most = min(h.least, gap), max(h.most, gap)
	}
	h.n, h.sum, h.last = h.n+1, h.sum+amount, now
	regular := r.regular > 0 && h.sum >= r.regular && h.most <= 1.2*h.least
	if h.sum >= r.least || regular {
		h.held, h.seen, h.over = h.last, h.sum, float32((now - h.start).Seconds())
	}
}

// observes reports whether the habit is of a client, or of none at present.
func (h *habit) observes(r *rule, from uint64, now time.Duration) bool {
	return h.last == 0 || h.from == from || now-h.start > r.within
}

// shown reports whether the rule held lately.
func (h *habit) shown(now time.Duration) bool { return h.held > 0 && now-h.held <= keptFor }

// observe follows the habits of a row.
func (r *row) observe(u *Use, cost, now time.Duration) {
	see := func(i int, from uint64, amount float32) { r.habits[i].add(&rules[i], from, amount, now) }
	if u.Outcome > Passed {
		return
	}
	if u.Plain && !u.Compressed && u.Verb != Watch && u.Sent >= longBody {
		see(uncompressed, u.From, float32(u.Sent))
	}
	if u.Format == InJSON && u.ClientGo && builtIn(u.Group, u.Version) {
		see(jsonForProtobuf, u.From, float32(cost.Seconds()))
	}
	if !u.Ended {
		return
	}
	switch u.Verb {
	case Get:
		if u.Object != 0 {
			see(polls, u.From^u.Object, 1)
		}
	case List:
		if u.Whole && u.Encoded >= longList {
			see(listsAll, u.From, 1)
		}
		if u.Whole {
			r.begins(u.From, now-u.Took, now)
		}
		if u.Consistent {
			see(consistentLists, u.From, 1)
		}
	case Watch:
		if r.habits[relists].observes(&rules[relists], u.From, now) {
			r.ended = seen{u.From, now}
		}
	}
}

// watches takes note of a watch of the client whose lists of the most recent state are counted.
func (r *row) watches(from uint64, now time.Duration) {
	if r.habits[consistentLists].observes(&rules[consistentLists], from, now) {
		r.watched = seen{from, now}
	}
}

// applies reports whether a habit is a hint: lists of the most recent state are one only if the same client watches, too.
func (r *row) applies(i int, now time.Duration) bool {
	h := &r.habits[i]
	watches := r.watched.at > 0 && r.watched.from == h.from && h.held-r.watched.at < time.Hour
	return h.shown(now) && (i != consistentLists || watches)
}

// begins takes note of a list of everything that began at some time: shortly after a watch, it is the list of a client that has
// lost its watch.
func (r *row) begins(from uint64, at, now time.Duration) {
	if r.ended.at > 0 && r.ended.from == from && at >= r.ended.at && at-r.ended.at <= relistAfter {
		r.ended.at = 0
		r.habits[relists].add(&rules[relists], from, 1, now)
	}
}

func builtIn(group, version string) bool {
	return scheme.Scheme.IsVersionRegistered(schema.GroupVersion{Group: group, Version: version})
}
