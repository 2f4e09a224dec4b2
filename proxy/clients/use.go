package clients

import "time"

// Verb is the kind of a request.
type Verb uint8

// The verbs.
const (
	Get Verb = iota
	List
	Watch
	OtherVerb
	numVerbs
)

var verbNames = [numVerbs]string{"get", "list", "watch", "other"}

// Outcome is the way in which a request was answered.
type Outcome uint8

// The outcomes.
const (
	Served  Outcome = iota // by the cache
	Passed                 // answered by the apiserver
	Refused                // by Sluice
	Failed                 // at the apiserver, or canceled by the client
	numOutcomes
)

var outcomeNames = [numOutcomes]string{"served", "passed", "refused", "failed"}

// Use are the counts of a request: of a whole one, or of a watch since it was counted last.
type Use struct {
	Key
	Verb    Verb
	Outcome Outcome
	Reason  string
	Ended   bool // the request has ended
	Address string
	Took    time.Duration

	Encoded, Sent int64 // bytes of the response, before Sluice compressed it and as written
	Listed        int64 // bytes of initial events of a watch, as they are stored
	Events        int64 // sent to a watch from the cache
	Scanned       int64 // objects that a list has looked at and not returned
	Format        Format
	Compressed    bool
}
