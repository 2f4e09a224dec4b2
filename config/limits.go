package config

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Limits bounds what callers may use of the process. A caller beyond a limit receives 429 with
// Retry-After, or waits; a connection beyond a limit is closed. Unauthenticated callers are limited by
// address instead of by user, and may have a quarter of each total together.
type Limits struct {
	// Connections are open connections. One counts for its address before its first authenticated
	// request, and for that user from then on.
	Connections Limit `json:"connections,omitempty" reload:"true"`
	// ConnectionsPerSecond and ConnectionBurst limit the new connections of one address. Those beyond are
	// closed before their TLS handshake.
	ConnectionsPerSecond int `json:"connectionsPerSecond,omitempty" reload:"true"`
	ConnectionBurst      int `json:"connectionBurst,omitempty" reload:"true"`
	// StreamsPerConnection are the concurrent requests of an HTTP/2 connection.
	StreamsPerConnection int `json:"streamsPerConnection,omitempty"`
	// Reads are gets, lists and other requests that change nothing.
	Reads ClassLimit `json:"reads,omitempty" reload:"true"`
	// Writes are requests that change objects.
	Writes ClassLimit `json:"writes,omitempty" reload:"true"`
	// Leases are reads and writes of single leases, by which nodes and leaders stay alive.
	Leases ClassLimit `json:"leases,omitempty" reload:"true"`
	// Watches are open watches.
	Watches ClassLimit `json:"watches,omitempty" reload:"true"`
	// Sessions are exec, attach, port-forward, logs and proxied connections.
	Sessions ClassLimit `json:"sessions,omitempty" reload:"true"`
	// UnauthenticatedUpstream is how many requests of unauthenticated callers, of all classes together, are
	// passed to the apiserver at the same time, each over a connection of its own.
	UnauthenticatedUpstream int `json:"unauthenticatedUpstream,omitempty" reload:"true"`
	// LongReads are how many lists and initial events of more than 256 KiB Sluice works on at the
	// same time. They take turns of a millisecond, so that each user gets as much of the CPU as any
	// other. 0 means as many as CPUs.
	LongReads int `json:"longReads" reload:"true"`
	// HeldBytes bounds the memory that responses hold because their clients read slowly.
	HeldBytes Bytes `json:"heldBytes,omitempty"`
	// QueueWait is how long a read, a write, a request for a lease, or a request to be passed waits
	// for a place.
	QueueWait metav1.Duration `json:"queueWait,omitempty" reload:"true"`
	// RequestsPerSecond and RequestBurst limit the requests of a user: reads and watches together, and
	// writes as many again.
	RequestsPerSecond int `json:"requestsPerSecond,omitempty" reload:"true"`
	RequestBurst      int `json:"requestBurst,omitempty" reload:"true"`
	// HeaderBytes and HeaderFields limit the header of a request, the request line included.
	HeaderBytes  int `json:"headerBytes,omitempty"`
	HeaderFields int `json:"headerFields,omitempty"`
	// ReadHeaderTimeout is the time for a TLS handshake, and for the header of a request.
	ReadHeaderTimeout metav1.Duration `json:"readHeaderTimeout,omitempty"`
	// IdleTimeout is how long a connection without requests is kept.
	IdleTimeout metav1.Duration `json:"idleTimeout,omitempty"`
}

// Limit is a number in total and for one user.
type Limit struct {
	// Total is the number of all users together.
	Total int `json:"total,omitempty"`
	// PerUser is the number of one user.
	PerUser int `json:"perUser,omitempty"`
}

// ClassLimit is a number of requests of one class, in total, for one user, and upstream.
type ClassLimit struct {
	// Total is the number of all users together.
	Total int `json:"total,omitempty"`
	// PerUser is the number of one user.
	PerUser int `json:"perUser,omitempty"`
	// Upstream is how many of all are passed to the apiserver at the same time, of one user at most half as
	// many.
	Upstream int `json:"upstream,omitempty"`
}

// Bytes is an amount of memory, in total and for one user.
type Bytes struct {
	// Total is the amount of all users together, in bytes.
	Total int64 `json:"total,omitempty"`
	// PerUser is the amount of one user, in bytes.
	PerUser int64 `json:"perUser,omitempty"`
}

func (l *Limits) setDefaults() {
	l.Connections.setDefault(10_000, 1000)
	set(&l.ConnectionsPerSecond, 200)
	set(&l.ConnectionBurst, 1000)
	set(&l.StreamsPerConnection, 100) // as in kube-apiserver (CVE-2023-44487)
	// Upstream is half as much again as the apiserver's own limits, which are 400 reads and 200 writes, so
	// that these decide first.
	l.Reads.setDefault(2000, 400, 600)
	l.Writes.setDefault(1000, 200, 300)
	l.Leases.setDefault(1000, 200, 200)
	l.Watches.setDefault(100_000, 10_000, 4000)
	l.Sessions.setDefault(2000, 200, 2000)
	set(&l.UnauthenticatedUpstream, 64)
	set(&l.HeldBytes.Total, 1<<30)
	set(&l.HeldBytes.PerUser, 512<<20)
	set(&l.QueueWait.Duration, 10*time.Second)
	set(&l.RequestsPerSecond, 1000)
	set(&l.RequestBurst, 2000)
	set(&l.HeaderBytes, 64<<10)
	set(&l.HeaderFields, 500)
	set(&l.ReadHeaderTimeout.Duration, 20*time.Second)
	set(&l.IdleTimeout.Duration, 2*time.Minute)
}

func (l *Limit) setDefault(total, perUser int) {
	set(&l.Total, total)
	set(&l.PerUser, perUser)
}

func (l *ClassLimit) setDefault(total, perUser, upstream int) {
	set(&l.Total, total)
	set(&l.PerUser, perUser)
	set(&l.Upstream, upstream)
}

func (l *Limits) validate(p *problems) {
	for _, n := range []struct {
		field string
		value int
	}{
		{"connections.total", l.Connections.Total}, {"connections.perUser", l.Connections.PerUser},
		{"connectionsPerSecond", l.ConnectionsPerSecond}, {"connectionBurst", l.ConnectionBurst},
		{"streamsPerConnection", l.StreamsPerConnection},
		{"reads.total", l.Reads.Total}, {"reads.perUser", l.Reads.PerUser}, {"reads.upstream", l.Reads.Upstream},
		{"writes.total", l.Writes.Total}, {"writes.perUser", l.Writes.PerUser}, {"writes.upstream", l.Writes.Upstream},
		{"leases.total", l.Leases.Total}, {"leases.perUser", l.Leases.PerUser}, {"leases.upstream", l.Leases.Upstream},
		{"watches.total", l.Watches.Total}, {"watches.perUser", l.Watches.PerUser}, {"watches.upstream", l.Watches.Upstream},
		{"sessions.total", l.Sessions.Total}, {"sessions.perUser", l.Sessions.PerUser}, {"sessions.upstream", l.Sessions.Upstream},
		{"unauthenticatedUpstream", l.UnauthenticatedUpstream},
		{"requestsPerSecond", l.RequestsPerSecond}, {"requestBurst", l.RequestBurst},
		{"headerFields", l.HeaderFields},
	} {
		p.check(n.value > 0, "limits."+n.field, "must be positive")
	}
	p.check(l.LongReads >= 0, "limits.longReads", "must not be negative")
	p.check(min(l.HeldBytes.Total, l.HeldBytes.PerUser) > 0, "limits.heldBytes", "must be positive")
	p.check(l.HeaderBytes >= minHeaderBytes && l.HeaderBytes <= maxHeaderBytes, "limits.headerBytes", "must be between 4096 and 1048576")
	p.positive("limits.queueWait", l.QueueWait)
	p.positive("limits.readHeaderTimeout", l.ReadHeaderTimeout)
	p.positive("limits.idleTimeout", l.IdleTimeout)
}

const (
	minHeaderBytes = 4 << 10
	maxHeaderBytes = 1 << 20 // as in kube-apiserver
)
