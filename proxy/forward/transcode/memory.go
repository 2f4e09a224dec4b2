package transcode

// Limits of the memory that responses take, in bytes.
const (
	// maxResponse is the longest JSON response that is transcoded. Longer lists have to be paged.
	maxResponse = 32 << 20
	// maxTranscoded is the longest response that is made from JSON, by estimate.
	maxTranscoded = 64 << 20
	// maxEvent is the longest watch event that is transcoded, in JSON: several times the largest
	// object that etcd stores.
	maxEvent = 16 << 20
	// writeReserve plus writeReserveFactor times the body is reserved before a write is sent whose
	// response will need transcoding: once the write has taken effect, it is too late to refuse it.
	// It is for the object sent, defaults and managed fields, and their encodings. A longer
	// response takes memory of the account.
	writeReserve       = 1 << 20
	writeReserveFactor = 4
)

// maxDepth is the nesting of the deepest response that is transcoded, in levels: indented, a
// response grows with its depth. Objects of the API are far less deep.
const maxDepth = 128
