package request

import (
	"strconv"
	"time"
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
