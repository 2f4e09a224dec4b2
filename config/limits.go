package config

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Limits bounds the memory, connections and requests of all callers together. A single caller may use all of a
// total that nobody else needs. When it is used up, the caller with the most loses connections or watches or,
// where that cannot be, nobody gets more than three times the free rest. A request that is refused receives 429
// with Retry-After.
type Limits struct {
	// Memory is the memory by which all totals of memory are calculated, in bytes; 0 means the limit of the
	// container or, without one, the memory of the machine.
	Memory int64 `json:"memory,omitempty" min:"67108864"`
	// StreamsPerConnection are the concurrent requests of an HTTP/2 connection.
	StreamsPerConnection int `json:"streamsPerConnection,omitempty"`
	// Seats are the places of requests that are passed to the apiserver at the same time, without watches and sessions
	// such as exec. A quarter of them is reserved for system callers. A list or streaming list that passes although the
	// cache should show it, while its store is filled or cannot be proven recent or because its selector is too large, takes
	// one more for each 256 KiB of its objects, a quarter of all at most. Requests wait for their places for ten seconds.
	Seats int `json:"seats,omitempty" reload:"true"`
	// HeaderBytes and HeaderFields limit the header of a request, the request line included.
	HeaderBytes  int64 `json:"headerBytes,omitempty" min:"4096" max:"1048576"`
	HeaderFields int   `json:"headerFields,omitempty"`
	// ReadHeaderTimeout is the time for the header of a request. A new connection has ten seconds to send its first one.
	ReadHeaderTimeout metav1.Duration `json:"readHeaderTimeout,omitempty"`
	// IdleTimeout is how long a connection without requests is kept.
	IdleTimeout metav1.Duration `json:"idleTimeout,omitempty"`
}

func (l *Limits) setDefaults() {
	set(&l.StreamsPerConnection, 100) // as in kube-apiserver (CVE-2023-44487)
	// Half as much again as the apiserver's own limits, which are 400 reads and 200 writes, so that these
	// decide first.
	set(&l.Seats, 900)
	set(&l.HeaderBytes, 64<<10)
	set(&l.HeaderFields, 500)
	set(&l.ReadHeaderTimeout.Duration, 20*time.Second)
	set(&l.IdleTimeout.Duration, 30*time.Second) // net/http holds a closed connection for as long, if it had open streams
}
