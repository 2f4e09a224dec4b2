package serve

// hitReason says why the version that the cache shows is recent enough for the request. It is the
// reason of a cache hit in logs and metrics.
type hitReason string

const (
	// anyVersion: the store was at a version that the request accepts.
	anyVersion hitReason = "any-version"
	// pastVersion: the history holds the exact version that the request names.
	pastVersion hitReason = "past-version"
	// upToDate: the store was already at the current version of the apiserver.
	// Where it was not, the reason is the cache.Proof that it has reached this version.
	upToDate hitReason = "up-to-date"
)

// passReason says why a request passes to the apiserver. A stage returns it as its error before it
// has written anything. A reason of the resource registry is a passReason too.
type passReason string

// Error returns the reason.
func (r passReason) Error() string { return string(r) }

const (
	notARead             passReason = "not-a-read"
	unknownCaller        passReason = "unknown-caller"
	unservedOptions      passReason = "options"
	largeSelector        passReason = "large-selector"
	getLatest            passReason = "get-latest"
	notAllowed           passReason = "not-allowed"
	wrongScope           passReason = "wrong-scope"
	unservedFormat       passReason = "format"
	versionNotReached    passReason = "version-not-reached"
	versionBeforeHistory passReason = "version-before-history"
	smallRead            passReason = "small-read"
	notProvenInTime      passReason = "not-proven-in-time"
)

// delegation is the passReason smallRead of a read that counts as part of what the store costs the
// apiserver, until done is called.
type delegation struct{ done func() }

// Error returns the reason.
func (d delegation) Error() string { return smallRead.Error() }

// Unwrap returns the reason.
func (d delegation) Unwrap() error { return smallRead }

// refusal is the error of a request that must be answered with an error here, because the apiserver
// may not support the feature that it uses.
type refusal struct {
	reason passReason // empty if the request itself is invalid
	err    error      // an APIStatus, or an internal error
}

// Error returns the message for the client.
func (r *refusal) Error() string { return r.err.Error() }
