package limits

import "net/http"

const (
	// connectionBytes, requestBytes and passedBytes are the least prices of a connection, of a request besides its header, and of
	// a passed watch or session.
	connectionBytes, requestBytes, passedBytes = 40 << 10, 16 << 10, 56 << 10
	// unauthenticatedPart of the memory, as a divisor, is for unauthenticated callers, and at most maxUnauthenticated.
	unauthenticatedPart, maxUnauthenticated = 16, 64 << 20
	// passedPart divides the descriptors: passed watches and sessions, and unauthenticated connections, use up one part at most.
	// Connections of users use up four fifths at most, as callers have four fifths of the memory.
	passedPart = 8
	// maxUnauthenticatedConnections bounds these on any machine.
	maxUnauthenticatedConnections = 1024
	// receiveBuffer is how much of bodies a client may send ahead of their handlers, on one HTTP/2 connection.
	receiveBuffer = 64 << 10
	// fieldBytes is the memory of a field of a header besides its name and value, and trailerBytes that of the name of a trailer
	// that the header announces.
	fieldBytes, trailerBytes = 48, 128
	// urlExpansion is how many times its length a URL may take once it is parsed: into segments of a byte, and into selectors of
	// as many short terms.
	urlExpansion = 16
)

// Memory is the part of callers in the memory of the process.
type Memory struct {
	Users, Unauthenticated *Ledger
	// ConnectionBytes is the price of a connection of a user, and PassedBytes that of a passed watch or session. They bound
	// the descriptors, too.
	ConnectionBytes, PassedBytes int64
	// UnauthenticatedConnections is the number of these for each Listener; no Ledger counts them.
	UnauthenticatedConnections int
}

// NewMemory divides the memory of a process that may have so many open files.
func NewMemory(bytes, descriptors int64) *Memory {
	unauthenticated := min(bytes/unauthenticatedPart, maxUnauthenticated)
	m := &Memory{
		Users: NewLedger(bytes - unauthenticated), Unauthenticated: NewLedger(unauthenticated),
		UnauthenticatedConnections: int(max(16, min(unauthenticated/connectionBytes, descriptors/passedPart, maxUnauthenticatedConnections))),
		ConnectionBytes:            max(connectionBytes, bytes/descriptors), PassedBytes: max(passedBytes, bytes*passedPart/descriptors),
	}
	m.Unauthenticated.unauthenticated = true
	return m
}

// RequestBytes returns about how much memory a request takes: its goroutine with all that it refers to, its header, and the part
// of its body that may have been received.
func RequestBytes(r *http.Request) int64 {
	n := requestBytes + headerBytes(r)
	switch {
	case r.ProtoMajor != 2 || r.ContentLength == 0:
	case r.ContentLength > 0:
		n += min(r.ContentLength, receiveBuffer)
	default:
		n += receiveBuffer
	}
	return n
}

func headerBytes(r *http.Request) int64 {
	n := urlExpansion*(len(r.URL.Path)+len(r.URL.RawQuery)) + trailerBytes*len(r.Trailer)
	for name, values := range r.Header {
		n += fieldBytes + len(name)
		for _, value := range values {
			n += len(value)
		}
	}
	return int64(n)
}
