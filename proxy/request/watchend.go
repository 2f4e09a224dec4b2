package request

// WatchEnd is how a watch ended, for logs, metrics and pages.
type WatchEnd string

// The ways in which a watch ends. After each but ClientClosed the client may watch again from the last version that it has received,
// and lists again if the answer is 410.
const (
	ClientClosed  WatchEnd = "client-closed"  // the client has closed the request or the connection
	Timeout       WatchEnd = "timeout"        // timeoutSeconds, or a time that the server chose, is over
	ClientStalled WatchEnd = "client-stalled" // the client has not read for response.WriteTimeout, or too slowly for the memory left
	Expired       WatchEnd = "expired"        // the history has lost events that the client has not read yet
	Revoked       WatchEnd = "revoked"        // the caller may not read the objects any more
	Drained       WatchEnd = "drained"        // Sluice stops
	StoreRebuilt  WatchEnd = "store-rebuilt"  // the store, or the columns of its Tables, were replaced
	CacheReady    WatchEnd = "cache-ready"    // the cache can serve a watch that has passed
	APIServerAway WatchEnd = "apiserver-away" // the apiserver did not answer, or broke off a watch that passes
	Failed        WatchEnd = "error"          // an event could not be encoded or had no memory, or a watch that passes gave way to another
)

// IsFailure reports whether the client got less than it asked for.
func (e WatchEnd) IsFailure() bool {
	switch e {
	case ClientStalled, Expired, APIServerAway, Failed:
		return true
	}
	return false
}
