package message

import "slices"

// Advice is the sentence of help for a reason of the metrics. Do is empty if nothing needs to be done.
type Advice struct {
	Reason, Do string
	Means      string // a sentence about a request that was served or passed
}

// AllAdvice has advice for each reason.
var AllAdvice = []Advice{
	{"any-version", "", "the request accepts any version, and the cache had one"},
	{"past-version", "", "the cache has kept the version that the request names"},
	{"later-version", "list again if it stays silent: its version is of another cluster", "the watch begins at a version that this cluster has not reached yet"},
	{"up-to-date", "", "the cache was known to be up to date"},
	{"filled-since", "", "the cache was filled after the request had arrived"},
	{"roll-call", "", "a list of all keys and versions has shown that the cache is up to date"},
	{"own-watch", "", "the apiserver has told on the watch of the cache that it is up to date"},
	{"probe-watch", "ask with resourceVersion=0 if an older state will do, which takes no proof", "a short second watch has shown that the cache is up to date"},

	{"not-a-read", "", "only gets, lists and watches of whole resources are served"},
	{"origin", "leave out the Origin header, which scripts in browsers send, to be served from the cache", "the request has the header Origin"},
	{"unknown-caller", "send a valid bearer token or client certificate; see authentication in the configuration", "Sluice does not know the caller"},
	{"options", "correct the parameters that the apiserver refuses, or leave out the limit of a list of one name or namespace", "its parameters are not among those that the cache serves"},
	{"large-selector", "select by fewer or shorter terms, or select in the client", "its selector is too large"},
	{"wrong-scope", "give a namespace to namespaced resources only, and to these for a get", "the resource has no namespaces, or the get names none"},
	{"get-latest", "ask with resourceVersion=0 if an older state will do, or watch the object instead of polling it", "the apiserver answers a single get of the latest state with less work than a proof"},
	{"small-read", "ask with resourceVersion=0 if an older state will do", "the apiserver answers a small read of the latest state with less work than a proof"},
	{"not-allowed", "ask whoever grants rights for get, list or watch of this resource, or to impersonate", "the caller may not read this, or may not impersonate"},
	{"not-reviewed", "give Sluice its rights (tokenreviews, subjectaccessreviews), see Rights; see whether the apiserver answers", "the apiserver has not said whether the caller may read this"},
	{"excluded", "set cache.secrets for secrets; take other resources out of cache.exclude", "the configuration keeps this resource out of the cache"},
	{"not-cacheable", "", "the apiserver cannot list and watch this resource"},
	{"not-in-sync", "wait for the fill; if it lasts, sluice status says why", "the cache of this resource is not filled yet"},
	{"not-running", "wait for the start", "Sluice has just started"},
	{"stores-too-large", "raise cache.maxBytes, or exclude what is large and rarely read", "the caches have no room for this resource"},
	{"format", "ask for JSON or Protobuf", "the cache does not write the format that the request asks for"},
	{"columns", "let Sluice get customresourcedefinitions, see Rights; for built-in kinds nothing, until Sluice knows the new columns", "Sluice does not know the columns of this Table"},
	{"version-not-reached", "list again; if it repeats, the client's version is of another apiserver, or etcd was restored", "the cache has not reached the version that the request names"},
	{"version-before-history", "if it repeats, raise cache.historyAge, or let the client read bookmarks", "the cache no longer has the changes since the version that the request names"},
	{"not-proven-in-time", "see whether the apiserver answers and sends bookmarks; with resourceVersion=0 the cache answers", "the cache could not be proven to be up to date in time"},
	{"history-discarded", "list again, as the client does by itself", ""},
	{"pass-budget", "wait until the store is filled, or raise limits.seats", ""},

	{"ambiguous-request", "correct the request, or the proxy that has changed it", ""},
	{"too-many-headers", "send fewer header fields, or raise limits.headerFields", ""},
	{"invalid-certificate", "renew the client certificate, or use one of the CA in authentication.clientCAFile", ""},
	{"token-too-long", "use a shorter token", ""},
	{"shutting-down", "connect again", ""},
	{"too-much-memory", "hold less: fewer connections, watches and requests at once, and read responses faster; or raise limits.memory", ""},
	{"too-many-upstream", "send fewer requests that pass, or raise limits.seats", ""},
	{"too-many-unauthenticated", "authenticate", ""},

	{"gateway-refused", "give Sluice the right to impersonate, see Rights", ""},
	{"upstream-unreachable", "see whether the apiserver runs, and the address in the kubeconfig; /readyz says more", ""},
	{"client-gone", "give the client more time, if it gave up", ""},
	{"client-stalled", "read responses", ""},
	{"response-cut", "send the request again; see the log of the apiserver", ""},
}

// Advise returns what can be done about the reasons, each once.
func Advise(reasons ...string) (all []Advice) {
	for _, a := range AllAdvice {
		if a.Do != "" && slices.Contains(reasons, a.Reason) {
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
