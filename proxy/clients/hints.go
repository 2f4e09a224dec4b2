package clients

import (
	"fmt"
	"time"
)

// Hint is what a client could do to cost less, and why that is believed.
type Hint struct {
	Name     string `json:"name"`
	Evidence string `json:"evidence"` // with the threshold
	Advice   string `json:"advice"`
}

// The names of hints, in the order of the habits, and of the one that watches give.
var hintNames = [...]string{
	listsAll: "lists-all", relists: "relists", uncompressed: "uncompressed", jsonForProtobuf: "json",
	consistentLists: "most-recent", polls: "polls", numHabits: "watch-unread",
}

var advice = [...]string{
	listsAll: "Watch it with an informer, which lists once. Else ask for pages (limit=500), " +
		"or for any state (resourceVersion=0), which has no pages.",
	relists: "Find out why its watches end: it should go on from the last version, also after a timeout. " +
		"If it gets 410 Gone, raise cache.historyAge and let it read bookmarks.",
	uncompressed: "Send Accept-Encoding: gzip; in client-go, DisableCompression: false. A list of pods is a tenth as long then.",
	jsonForProtobuf: "In typed clients of client-go, set ContentType: application/vnd.kubernetes.protobuf. " +
		"Dynamic clients ask for JSON whatever it is: read metadata only, or use CBOR there.",
	consistentLists: "It watches the resource too, so its own state is as recent. For the start, resourceVersion=0 is enough.",
	polls:           "Watch the object with fieldSelector=metadata.name=NAME; in kubectl, kubectl wait.",
	numHabits:       "Its handler blocks or has hung. Restart it, and let handlers only put work into a queue.",
}

// A watch is not read if so much waits for it.
const (
	unreadFor    = time.Minute
	unreadEvents = 100
)

// hints returns what may be advised to the client of a row, the slowest of whose watches has a lag.
func (r *row) hints(slowest Lag, now time.Duration) []Hint {
	all := []Hint{}
	for i := range r.habits {
		if r.applies(i, now) {
			all = append(all, Hint{hintNames[i], evidence(i, &r.habits[i]), advice[i]})
		}
	}
	if slowest.Oldest > unreadFor && slowest.Events > unreadEvents {
		all = append(all, Hint{
			hintNames[numHabits], fmt.Sprintf("a watch has not taken %d events for %.0f s (from %d events and %.0f s on)",
				slowest.Events, slowest.Oldest.Seconds(), unreadEvents, unreadFor.Seconds()), advice[numHabits],
		})
	}
	return all
}

// evidence says what was counted, and from how much on it is a hint.
func evidence(i int, h *habit) string {
	rule := &rules[i]
	within := fmt.Sprintf("%.0f min", rule.within.Minutes())
	times := fmt.Sprintf("%.0f times in %.0f s", h.seen, h.over)
	switch i {
	case listsAll:
		return fmt.Sprintf("listed everything, over 1 MiB and without limit, %s (from %.0f in %s on, or %.0f at regular intervals)",
			times, rule.least, within, rule.regular)
	case relists:
		return fmt.Sprintf("listed everything within %.0f s of the end of its watch, %s (from %.0f in %s on)",
			relistAfter.Seconds(), times, rule.least, within)
	case uncompressed:
		return fmt.Sprintf("took %.1f MB without compression in %.0f s (from %.0f MB in %s on)",
			h.seen/1e6, h.over, rule.least/1e6, within)
	case jsonForProtobuf:
		return fmt.Sprintf("took JSON worth %.1f s of the apiserver's CPU in %.0f s (from %.0f s in %s on)",
			h.seen, h.over, rule.least, within)
	case consistentLists:
		return fmt.Sprintf("listed the most recent state %s while it watches (from %.0f in %s on)", times, rule.least, within)
	}
	return fmt.Sprintf("got one object %s (from %.0f in %s on)", times, rule.least, within)
}
