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

// Outcome is the way in which a request has ended, in the sense of docs/semantics.md.
type Outcome uint8

// The outcomes.
const (
	Served  Outcome = iota // answered by the cache
	Passed                 // answered by the apiserver
	Refused                // 401, 403 or 429 of the apiserver, 4xx of Sluice
	Failed                 // 5xx, or no answer

	numOutcomes
)

// Outcomes are the names of the outcomes.
var Outcomes = [numOutcomes]string{"served", "passed", "refused", "failed"}

// Source is the server that has answered.
type Source uint8

// The sources.
const (
	ByCache Source = iota
	ByApiserver
	BySluice
)

// Sources are the names of the sources, as in the metrics.
var Sources = [...]string{"cache", "upstream", "gateway"}

// RefusedByApiserver stands for the reason of a refusal by the apiserver.
const RefusedByApiserver = "by the apiserver"

// Use are the counts of a request: of a whole one, or of a watch since it was counted last.
type Use struct {
	Key
	Verb    Verb
	Outcome Outcome
	Source  Source
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
