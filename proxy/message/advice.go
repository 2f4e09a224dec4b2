package message

import "slices"

// Advice is what can be done about a reason of the metrics.
type Advice struct {
	Reason, Do string
}

// nothing is the advice for what is as it should be.
const nothing = "nothing: it is as it should be"

// AllAdvice has advice for each reason.
var AllAdvice = []Advice{
	{"any-version", nothing},
	{"past-version", nothing},
	{"up-to-date", nothing},
	{"filled-since", nothing},
	{"roll-call", nothing},
	{"own-watch", nothing},
	{"probe-watch", "nothing, or ask for resourceVersion=0 where an older state will do"},

	{"not-a-read", "nothing: only gets, lists and watches of whole resources are served"},
	{"origin", "leave out the Origin header, which scripts in browsers send, to be served from the cache"},
	{"unknown-caller", "send a valid bearer token or client certificate; see authentication in the configuration"},
	{"options", "correct the parameters that the apiserver refuses, or leave out the limit of a list of one name or namespace"},
	{"large-selector", "select by fewer or shorter terms, or select in the client"},
	{"wrong-scope", "give a namespace to namespaced resources only, and to these for a get"},
	{"get-latest", "nothing; with resourceVersion=0 the cache answers, or watch the object instead of polling it"},
	{"small-read", "nothing; with resourceVersion=0 the cache answers without a proof"},
	{"not-allowed", "ask whoever grants rights for get, list or watch of this resource, or to impersonate"},
	{"not-reviewed", "give Sluice its rights (tokenreviews, subjectaccessreviews), see Rights; see whether the apiserver answers"},
	{"excluded", "take the resource out of cache.exclude if it should be served"},
	{"not-cacheable", "nothing: the apiserver cannot list and watch this resource"},
	{"not-in-sync", "wait for the fill; if it lasts, the log says why (reflector interrupted): usually the right to list and watch"},
	{"not-running", "wait for the start"},
	{"stores-too-large", "raise cache.maxBytes, or exclude what is large and rarely read"},
	{"format", "ask for JSON or Protobuf"},
	{"columns", "let Sluice get customresourcedefinitions, see Rights; for built-in kinds nothing, until Sluice knows the new columns"},
	{"version-not-reached", "list again; if it repeats, the client's version is of another apiserver, or etcd was restored"},
	{"version-before-history", "nothing if it ends after its first event; if it repeats, raise cache.historyAge, or use bookmarks"},
	{"not-proven-in-time", "see whether the apiserver answers and sends bookmarks; with resourceVersion=0 the cache answers"},
	{"history-discarded", "list again, as the client does by itself"},
	{"pass-budget", "wait until the store is filled, or raise limits.seats"},

	{"ambiguous-request", "correct the request, or the proxy that has changed it"},
	{"too-many-headers", "send fewer header fields, or raise limits.headerFields"},
	{"invalid-certificate", "renew the client certificate, or use one of the CA in authentication.clientCAFile"},
	{"token-too-long", "use a shorter token"},
	{"shutting-down", "connect again"},
	{"connection-evicted", "keep fewer connections open; see limits.connections"},
	{"too-many-silent", "keep fewer connections open that send nothing"},
	{"too-many-strangers", "authenticate, or keep fewer connections open"},
	{"too-many-connections", "keep fewer connections open, or raise limits.connections"},
	{"too-many-unverified", "authenticate, or send fewer requests at once"},
	{"too-many-requests", "send fewer requests at once, or raise limits.memory"},
	{"too-many-bodies", "send smaller bodies, or raise limits.memory"},
	{"too-many-streams", "open fewer watches that pass, or raise limits.upstreamStreams"},
	{"too-many-held", "read responses faster; see limits.memory"},
	{"too-many-upstream", "send fewer requests that pass, or raise limits.seats"},
	{"too-many-unauthenticated", "authenticate"},
	{"too-slow", "read responses faster; see limits.memory"},

	{"gateway-refused", "give Sluice the right to impersonate, see Rights"},
	{"upstream-unreachable", "see whether the apiserver runs, and the address in the kubeconfig; /readyz says more"},
	{"client-gone", "nothing, or give the client more time"},
	{"client-stalled", "read responses"},
	{"response-cut", "send the request again; see the log of the apiserver"},
}

// Advise returns the advice for those of the reasons that are some, each once.
func Advise(reasons ...string) (all []Advice) {
	for _, a := range AllAdvice {
		if slices.Contains(reasons, a.Reason) {
			all = append(all, a)
		}
	}
	return all
}

// AdviceFor returns the advice for a reason; false if it is none.
func AdviceFor(reason string) (Advice, bool) {
	for _, a := range AllAdvice {
		if a.Reason == reason {
			return a, true
		}
	}
	return Advice{}, false
}
