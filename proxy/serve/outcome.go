package serve

import (
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sluice/cache"
)

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
	// filledSince: the store began to be filled after the read began.
	filledSince hitReason = "filled-since"
)

// passReason says why a request passes to the apiserver. A stage returns it as its error before it
// has written anything. A reason of the resource registry is a passReason too.
type passReason string

// Error returns the reason.
func (r passReason) Error() string { return string(r) }

const (
	notARead             passReason = "not-a-read"
	unknownCaller        passReason = "unknown-caller"
	crossOrigin          passReason = "cross-origin"
	unservedOptions      passReason = "options"
	largeSelector        passReason = "large-selector"
	getLatest            passReason = "get-latest"
	notAllowed           passReason = "not-allowed"
	notReviewed          passReason = "not-reviewed"
	wrongScope           passReason = "wrong-scope"
	unservedFormat       passReason = "format"
	versionNotReached    passReason = "version-not-reached"
	versionBeforeHistory passReason = "version-before-history"
	smallRead            passReason = "small-read"
	notProvenInTime      passReason = "not-proven-in-time"
	historyDiscarded     passReason = "history-discarded" // never passes: see errDiscarded
)

// passBudgetFull is the reason of a refusal of a read that would cost the apiserver too much.
const passBudgetFull passReason = "pass-budget"

// forwarded is the passReason of a read that passes although the cache might show it.
type forwarded struct {
	passReason
	read    *cache.Read // which is under way until the response begins; nil for one that does not count
	allowed func()      // called when the apiserver has answered it with 200; nil calls nothing
	claim   *claim      // of the budget of reads that pass; nil for one that does not count
}

// Unwrap returns the reason.
func (f forwarded) Unwrap() error { return f.passReason }

// begun takes note of the status of the response.
func (f forwarded) begun(status int) {
	if f.read != nil && status >= http.StatusOK {
		f.read.Answered()
	}
	f.claim.begun(status)
	if f.allowed != nil && status == http.StatusOK {
		f.allowed()
	}
}

// end ends the read when the response has ended.
func (f forwarded) end() {
	if f.read != nil {
		f.read.End()
	}
	f.claim.end()
}

// statusObserver calls begun with the status of a response.
type statusObserver struct {
	http.ResponseWriter
	begun func(status int)
}

// Unwrap implements what http.ResponseController expects.
func (o *statusObserver) Unwrap() http.ResponseWriter { return o.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (o *statusObserver) WriteHeader(status int) {
	o.begun(status)
	o.ResponseWriter.WriteHeader(status)
}

// refusal is the error of a request that must be answered with an error here, because the apiserver
// would not do so.
type refusal struct {
	reason passReason // empty if the request itself is invalid
	err    error      // an APIStatus, or an internal error
}

// errDiscarded refuses a watch from a version of a history that the apiserver has discarded: the client must list
// again. The apiserver itself would go on as if the client had missed nothing.
var errDiscarded = &refusal{historyDiscarded, apierrors.NewResourceExpired("the history of this resource version was discarded, as by a restore of etcd: list again")}

// Error returns the message for the client.
func (r *refusal) Error() string { return r.err.Error() }
