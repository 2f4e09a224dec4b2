package message

// Messages about limits, which come with 429 and Retry-After.
var (
	TooMuch = Message{"too-much-memory", "the callers of Sluice hold too much memory, or this one does",
		"try again later; see limits.memory in the configuration of Sluice"}
	NoSeat = Message{"no-seat", "too many requests wait to be passed to the apiserver",
		"try again later; see limits.seats in the configuration of Sluice"}
	NoPlace = Message{"no-place", "too many requests of unauthenticated callers are in flight to the apiserver",
		"authenticate or try again later"}
	PassBudget = Message{"pass-budget",
		"the cache cannot show %s now (%s), and such reads already cost the apiserver as much as they may",
		"try again later; see limits.seats in the configuration of Sluice"}
)

// Messages about requests that are not passed as they are.
var (
	Ambiguous = Message{"ambiguous-request", "another server could understand this request differently: %v",
		"correct the request, or the proxy that has changed it"}
	TooManyHeaders = Message{"too-many-headers", "the request has %d header fields, more than %d",
		"send fewer; see limits.headerFields in the configuration of Sluice"}
	SlowBody = Message{"slow-body", "the request body was not sent in time", "send it again over a faster connection"}
	BadBody  = Message{"malformed-body", "the request body is malformed: %v",
		"correct the framing of the body (Transfer-Encoding: chunked)"}
	BadProjection = Message{"impossible-projection", "objects have no such projection: %v",
		"correct keep or drop in the Accept header"}
	BadNamespaces = Message{"invalid-namespaces", "the header Sluice-Namespaces has another value than \"allowed\"",
		"correct it or leave it out"}
	Unnamed = Message{"unnamed-caller", "the gateway cannot name the caller to the apiserver: %s",
		"use a bearer token, which passes as it is"}
)

// Messages about credentials and rights.
var (
	LongToken  = Message{"token-too-long", "the bearer token is longer than 16 KiB", "use a shorter one"}
	NotLogged  = Message{"admin-unauthorized", "this path needs credentials", "send a bearer token or a client certificate"}
	NotGranted = Message{"admin-forbidden", "you may not get this path",
		"a role must allow get of it as a nonResourceURL, see docs/operating.md"}
	UnknownHost = Message{"unknown-host", "this host name is unknown here",
		"use an IP address, localhost, or a name in admin.hosts of the configuration"}
	NotReviewed = Message{"not-reviewed", "the apiserver cannot be asked about this access at the moment", "try again later"}
	LoggedOut   = Message{"watch-unauthorized", "the credentials of this watch are no longer valid",
		"log in and watch again"}
	RightsChanged = Message{"rights-changed", "your rights have changed, and so has what this read shows", "list again"}
	Revoked       = Message{"watch-forbidden", "access to this watch has been revoked", "ask whoever grants the right"}
)

// Messages about watches that end.
var (
	TooSlow    = Message{"too-slow", "the watch was read too slowly", "list and watch again, and read events faster"}
	Unwritable = Message{"unwritable", "the next object cannot be written in the format of this watch",
		"watch again from the last version, which then passes to the apiserver"}
	NotProven = Message{"not-proven", "the initial events could not be proven to be recent in time",
		"watch again; if it repeats, see whether the apiserver answers"}
	SomeNamespaces = Message{"some-namespaces", "this shows only the namespaces that you may read",
		"ask whoever grants rights for more"}
	NotHereYet = Message{"some-namespaces-not-yet", "the cache cannot show the namespaces that you may read at the moment (%s)",
		"try again later, or read one namespace"}
	Discarded = Message{"history-discarded", "the history of this resource version was discarded, as by a restore of etcd",
		"list again"}
)

// Messages about the apiserver, and about Sluice as a whole.
var (
	Unreachable = Message{"upstream-unreachable", "the apiserver cannot be reached",
		"try again later; /readyz of Sluice says why"}
	Refused = Message{"gateway-refused", "the apiserver does not accept requests from the gateway at the moment",
		"try again later; if it lasts, Sluice lacks the right to impersonate, see docs/operating.md"}
	NamesUnknown = Message{"names-unknown", "the names of front-proxy headers are not known yet",
		"try again later; if it lasts, Sluice may not read the ConfigMap extension-apiserver-authentication"}
	ShuttingDown   = Message{"shutting-down", "the gateway is shutting down", "send the request again"}
	Untranscodable = Message{"untranscodable", "the apiserver's response cannot be transcoded: %v",
		"ask for JSON, and report this"}
	Unacceptable = Message{"unacceptable", "the response %s", "ask for JSON or Protobuf"}
	CarriedOut   = Message{"carried-out", "the request was carried out, but: %v", "do not send it again; read the object"}
)

// Messages of the explicit proxy.
var (
	ProxyInvalid = Message{"proxy-invalid", "a CONNECT must name host:port and have no body", "correct the client"}
	ProxyOnlyAPI = Message{"proxy-not-allowed", "%s",
		"exempt other destinations by NO_PROXY"}
	ProxyNotPlain = Message{"proxy-not-connect", "this proxy forwards no plain HTTP; %s", "use https"}
	ProxyAddress  = Message{"proxy-misdirected", "this is the address of a proxy; %s", "set it as HTTPS_PROXY or proxy-url"}
	ProxyEnding   = Message{"proxy-shutting-down", "the proxy is shutting down", "try again"}
)
