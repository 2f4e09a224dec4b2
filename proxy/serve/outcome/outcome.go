package outcome

import (
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sluice/cache/fence"
	"sluice/proxy/message"
	"sluice/proxy/resources"
)

// Hit says why the version that the cache shows is recent enough for the request. It is the
// reason of a cache hit in logs and metrics.
type Hit string

const (
	// AnyVersion: the store was at a version that the request accepts.
	AnyVersion Hit = "any-version"
	// PastVersion: the history holds the exact version that the request names.
	PastVersion Hit = "past-version"
	// LaterVersion: the watch begins at a version that the store has not reached.
	LaterVersion Hit = "later-version"
	// UpToDate: the store was already at the current version of the apiserver.
	// Where it was not, the reason is the fence.Proof that it has reached this version.
	UpToDate = Hit(fence.UpToDate)
	// FilledSince: the store began to be filled after the read began.
	FilledSince Hit = "filled-since"
)

// Pass says why a request passes to the apiserver. A stage returns it as its error before it
// has written anything. A reason of the resource registry is a Pass too.
type Pass string

// Error returns the reason.
func (r Pass) Error() string { return string(r) }

const (
	NotARead             Pass = "not-a-read"
	UnknownCaller        Pass = "unknown-caller"
	UnservedOptions      Pass = "options"
	LargeSelector        Pass = "large-selector"
	OtherOrigin          Pass = "origin"
	ConsistentGet        Pass = "get-latest"
	NotAllowed           Pass = "not-allowed"
	NotReviewed          Pass = "not-reviewed"
	WrongScope           Pass = "wrong-scope"
	UnservedFormat       Pass = "format"
	UnknownColumns       Pass = "columns"
	VersionNotReached    Pass = "version-not-reached"
	VersionBeforeHistory Pass = "version-before-history"
	SmallRead            Pass = "small-read"
	NotProvenInTime      Pass = "not-proven-in-time"
	HistoryDiscarded     Pass = "history-discarded" // never passes: see ErrDiscarded
)

// PassBudgetFull is the reason of a refusal of a read that would cost the apiserver too much.
const PassBudgetFull Pass = "pass-budget"

// Temporary reports whether the same watch could be served from the cache some minutes later.
func (r Pass) Temporary() bool {
	switch r {
	case VersionBeforeHistory, VersionNotReached, NotProvenInTime, NotReviewed, resources.NotInSync:
		return true
	}
	return false
}

// Ceases reports whether a reason may cease to hold although nothing of the watch changes.
func (r Pass) Ceases() bool {
	switch r {
	case NotAllowed, NotReviewed, resources.NotInSync, resources.NotCacheable, resources.NotRunning, resources.StoresTooLarge:
		return true
	}
	return false
}

// Cacheable reports whether the cache would show the same objects if its store were in another state, if they were selected
// by less text, or without an Origin.
func (r Pass) Cacheable() bool {
	switch r {
	case LargeSelector, OtherOrigin, resources.NotInSync, resources.NotRunning, resources.StoresTooLarge,
		NotReviewed, NotProvenInTime, VersionNotReached, VersionBeforeHistory:
		return true
	}
	return false
}

// Forwarded is the error of a read that passes although the cache might show it.
type Forwarded struct {
	Pass
	Read    *fence.Read // which is under way until the response begins; nil for one that does not count
	Allowed func()      // called when the apiserver has answered it with 200; nil calls nothing
}

// Unwrap returns the reason.
func (f Forwarded) Unwrap() error { return f.Pass }

// Begun takes note of the status of the response.
func (f Forwarded) Begun(status int) {
	if status >= http.StatusOK {
		f.Read.Answered()
	}
	if f.Allowed != nil && status == http.StatusOK {
		f.Allowed()
	}
}

// Refused is the error of a request that must be answered with an error here, because the apiserver
// would not do so.
type Refused struct {
	Reason Pass  // empty if the request itself is invalid
	Err    error // an APIStatus, or an internal error
}

// ErrDiscarded refuses a watch from a version of a history that the apiserver has discarded: the client must list
// again. The apiserver itself would go on as if the client had missed nothing.
var ErrDiscarded = &Refused{HistoryDiscarded, apierrors.NewResourceExpired(message.Discarded.Say())}

// Error returns the message for the client.
func (r *Refused) Error() string { return r.Err.Error() }
