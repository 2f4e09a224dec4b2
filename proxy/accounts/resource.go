package accounts

// Resource is something that callers hold and that is scarce.
type Resource int

// The resources.
const (
	// Silent are connections that have sent nothing so far.
	Silent Resource = iota
	// Strangers are connections that have sent something, and no authenticated request so far.
	Strangers
	// Connections are those of authenticated callers.
	Connections
	// Unverified is memory for requests of callers that are not authenticated, or not yet.
	Unverified
	// Requests is memory for requests in progress, open watches included.
	Requests
	// Bodies is memory for bodies that are read before they are passed, or transcoded.
	Bodies
	// Streams are requests to the apiserver that last: watches that pass, and sessions such as exec.
	Streams
	// Held is memory that responses hold until their clients have read them: buffers and past states of stores.
	Held

	numResources
)

// All are the resources in the order of the table.
func All() []Resource {
	all := make([]Resource, numResources)
	for i := range all {
		all[i] = Resource(i)
	}
	return all
}

// Row describes a resource for operators.
type Row struct {
	Name    string // the label in metrics, and the reason of a refusal: "too-many-" + Name
	Unit    string
	Bytes   int64  // of memory that one unit takes
	Total   string // whence the total follows
	Scarce  string // what happens when the total is used up
	Refusal string // what the refused gets
	// OldestFirst revokes the oldest grant of the heaviest account instead of the newest. A new grant then also replaces one of
	// its own account, or one of an account that holds as much.
	OldestFirst bool
}

const refused429 = "429 with Retry-After"

var rows = [numResources]Row{
	Silent: {
		Name: "silent", Unit: "connections", Bytes: 4 << 10,
		Total:  "a sixteenth of the descriptors, and what `connections` leaves",
		Scarce: "the oldest connection closes, of the address with the most", Refusal: "the connection closes",
		OldestFirst: true,
	},
	Strangers: {
		Name: "strangers", Unit: "connections", Bytes: 48 << 10, Total: "an eighth of the descriptors, at most 2,048",
		Scarce: "the oldest connection that waits for its client closes, of the address with the most; of an address with four " +
			"times as many as the newcomer's, the oldest",
		Refusal: "waits to be accepted", OldestFirst: true,
	},
	Connections: {
		Name: "connections", Unit: "connections", Bytes: 40 << 10, Total: "`limits.connections`, or 5/8 of the descriptors",
		Scarce:  "the newest connection of the account with the most closes, if it has more than the newcomer",
		Refusal: "429, and the connection closes",
	},
	Unverified: {
		Name: "unverified", Unit: "bytes", Bytes: 1, Total: "1/16 of the memory, at most 64 MiB",
		Scarce: "what waits ends, of the address with the most: requests whose body or review is not complete, and " +
			"connections with incomplete headers; besides these, no address may hold more than three times what is free",
		Refusal: refused429 + ", at once; a header that is not complete ends with its connection",
	},
	Requests: {
		Name: "requests", Unit: "bytes", Bytes: 1, Total: "half of the memory",
		Scarce: "the newest watch of the account with the most ends, or the newest change whose body is not complete; besides " +
			"these, no account may hold more than three times what is free",
		Refusal: refused429,
	},
	Bodies: {
		Name: "bodies", Unit: "bytes", Bytes: 1, Total: "a quarter of the memory",
		Scarce: "no account may hold more than three times what is free", Refusal: "passes without being kept, or " + refused429,
	},
	Streams: {
		Name: "streams", Unit: "requests", Bytes: 56 << 10, Total: "`limits.upstreamStreams`, at most 1/4 of the descriptors, or 1/8 of them",
		Scarce: "the newest watch or session of the account with the most ends", Refusal: refused429,
	},
	Held: {
		Name: "held", Unit: "bytes", Bytes: 1, Total: "a quarter of the memory",
		Scarce: "the oldest response of the account with the most ends whose client has let it wait for 250 ms, or that is 10 s old; " +
			"buffers of one account leave a quarter to others",
		Refusal: refused429 + ", or the response ends", OldestFirst: true,
	},
}

// Row returns the description of a resource.
func (r Resource) Row() Row { return rows[r] }

// String returns the resource's label in metrics.
func (r Resource) String() string { return rows[r].Name }
