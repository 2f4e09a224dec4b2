package request

import (
	"strconv"
	"time"
)

// Headers of responses that say how Sluice has answered. A request asks for one by the same header with the value Asked.
const (
	// SourceHeader has the source and the reason, as in "cache; up-to-date", and "; transcoded" after them if Sluice converted
	// the response.
	SourceHeader = "Sluice-Source"
	// AsOfHeader says which state a response from the cache shows.
	AsOfHeader = "Sluice-As-Of"
	Asked      = "?1"
)

// AsOf says which state a response from the cache shows. The zero value says nothing.
type AsOf struct {
	// Version is the resource version of the state, or the one that a watch starts from.
	Version uint64
	// Known is a time at which the state was known to be the apiserver's newest; zero if the response shows the
	// version that the client has named.
	Known time.Time
	// Proof says how the state was found recent enough.
	Proof string
}

// ProofPending is the proof of the initial events that are sent before they are proven.
const ProofPending = "pending"

// Header returns the value of the response header Sluice-As-Of (RFC 9651, an integer with parameters).
func (a AsOf) Header(now time.Time) string {
	value := strconv.FormatUint(a.Version, 10)
	if !a.Known.IsZero() {
		value += "; age=" + strconv.FormatFloat(max(0, now.Sub(a.Known).Seconds()), 'f', 3, 64)
	}
	return value + "; proof=" + a.Proof
}
