package conformance

import "context"

// Row is a law of the API.
type Row struct {
	Name string
	// Law is what a right server does, and what stands before it leaves as it is.
	Law string
	// Breaks is what is broken without it, and for whom.
	Breaks string
	// each has the row checked for each resource, instead of one.
	each bool
	// two has it checked only where there are two endpoints.
	two bool
	// needs are the rows without which this one says nothing new.
	needs []string
	// check returns what has come, and what is wrong with it.
	check func(context.Context, *probe) (came string, err error)
}

// A check returns one of these errors where the law is neither kept nor broken.
type (
	skipped string // nothing shows it
	costly  string // clients work without it, at a higher cost
)

func (s skipped) Error() string { return string(s) }
func (c costly) Error() string  { return string(c) }

// Rows returns the laws. The one that takes long begins first.
func Rows() []Row {
	list := []string{"list"}
	return []Row{
		{Name: "list", check: checkList, each: true,
			Law:    "a list is a List of the API, at a version",
			Breaks: "every client"},
		{Name: "idle watch", check: checkIdle, needs: []string{"list", "watch end"},
			Law:    "a watch without events stays open until its timeoutSeconds",
			Breaks: "controllers of quiet resources watch anew all the time; if no end comes either, they miss what happens next"},
		{Name: "errors", check: checkErrors, needs: list,
			Law:    "an error is the Status of the apiserver, not a page of what stands between",
			Breaks: "kubectl and controllers cannot tell not found from forbidden or expired"},
		{Name: "pages", check: checkPages, needs: list,
			Law:    "limit and the continue token arrive, and a token comes back",
			Breaks: "kubectl and all that read in pages miss objects, or read the first page for ever"},
		{Name: "match", check: checkMatch, needs: list,
			Law:    "resourceVersionMatch arrives: without a version it is refused",
			Breaks: "lists of an exact version show another one, and streaming lists are refused"},
		{Name: "exact version", check: checkExact, needs: []string{"list", "match", "watch version"},
			Law:    "a list of an exact version shows that version",
			Breaks: "backups mix states"},
		{Name: "expired version", check: checkExpired, needs: []string{"list", "match", "watch version"},
			Law:    "a version that is forgotten is answered by 410, for lists and watches",
			Breaks: "informers do not list again, but ask for the same version for ever, with stale caches"},
		{Name: "selectors", check: checkSelectors, needs: list,
			Law:    "label and field selectors arrive, with parentheses and commas",
			Breaks: "kubelets and controllers receive what is not theirs, or nothing"},
		{Name: "table", check: checkTable, needs: list,
			Law:    "a client that prefers a Table receives one",
			Breaks: "kubectl get prints only names and ages; k9s and Lens show no columns"},
		{Name: "metadata", check: checkMetadata, needs: list,
			Law:    "a client that prefers metadata receives only metadata",
			Breaks: "metadata informers (garbage collection, cert-manager) fail, or hold whole objects"},
		{Name: "metadata events", check: checkMetadataEvents, needs: []string{"metadata", "first event"},
			Law:    "a client that watches metadata receives only metadata",
			Breaks: "metadata informers fail"},
		{Name: "protobuf", check: checkProtobuf, needs: list,
			Law:    "a client that asks for Protobuf receives it",
			Breaks: "kubelets and controllers fail"},
		{Name: "compression", check: checkGzip,
			Law:    "a long answer is compressed with gzip, once, for a client that accepts it",
			Breaks: "long lists take five to ten times the bytes, or cannot be read"},
		{Name: "caching", check: checkCaching, needs: list,
			Law:    "answers forbid caches to keep them, and come from none",
			Breaks: "a cache shows one user what another has read, and old states"},
		{Name: "protocol", check: checkProtocol, needs: list,
			Law:    "HTTP/2 is spoken",
			Breaks: "each watch takes a connection of its own; browsers stall after six"},
		{Name: "watch header", check: checkHeader, needs: list,
			Law:    "the header of a watch comes at once, though nothing happens",
			Breaks: "clients time out, and kubectl --watch-only shows nothing until something changes"},
		{Name: "watch end", check: checkEnd, needs: list,
			Law:    "a watch ends in order when its timeoutSeconds are over",
			Breaks: "clients log errors and back off, or stay on a dead watch"},
		{Name: "many watches", check: checkMany, needs: []string{"watch header"},
			Law:    "20 watches are open side by side",
			Breaks: "programs with many informers do not start"},
		{Name: "watch version", check: checkVersion, needs: list, each: true,
			Law:    "a watch continues from the version of a list",
			Breaks: "informers receive everything again with each watch, or list again and again"},
		{Name: "first event", check: checkFirstEvent, needs: []string{"list", "watch header"}, each: true,
			Law:    "an event comes at once, however small it is",
			Breaks: "kubectl wait, rollout status and controllers act late: events are held until a buffer is full"},
		{Name: "sendInitialEvents", check: checkInitial, needs: list,
			Law: "sendInitialEvents arrives: without resourceVersionMatch it is refused",
			Breaks: "client-go since 1.35 (kubectl, k9s, controllers) waits for ever for a streaming list; " +
				"the apiserver may also be older than 1.27"},
		{Name: "streaming list", check: checkStreaming, needs: []string{"first event", "sendInitialEvents", "match"}, each: true,
			Law:    "a streaming list sends all objects, then the bookmark k8s.io/initial-events-end",
			Breaks: "informers of client-go since 1.35 (kubectl, k9s, controllers, agents behind tunnels) never sync"},
		{Name: "streamed objects", check: checkStreamed, needs: []string{"streaming list", "exact version", "selectors"}, each: true,
			Law:    "a streaming list shows the objects of the list of its version",
			Breaks: "informers miss objects that lists show"},
		{Name: "same objects", check: checkSame, needs: []string{"exact version"}, each: true, two: true,
			Law:    "both endpoints show the same objects of a version",
			Breaks: "what a client sees depends on the way it takes"},
	}
}
