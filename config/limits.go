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
	Connections Limit `json:"connections,omitempty"`
	// StreamsPerConnection are the concurrent requests of an HTTP/2 connection.
	StreamsPerConnection int `json:"streamsPerConnection,omitempty"`
	// Reads are gets, lists and other requests that change nothing.
	Reads Limit `json:"reads,omitempty"`
	// Writes are requests that change objects, and gets of leases.
	Writes Limit `json:"writes,omitempty"`
	// Watches are open watches.
	Watches Limit `json:"watches,omitempty"`
	// Sessions are exec, attach, port-forward, logs and proxied connections.
	Sessions Limit `json:"sessions,omitempty"`
	// QueueWait is how long a read or write waits for a place.
	QueueWait metav1.Duration `json:"queueWait,omitempty"`
	// RequestsPerSecond and RequestBurst limit the requests of a user: reads and watches together, and
	// writes as many again.
	RequestsPerSecond int `json:"requestsPerSecond,omitempty"`
	RequestBurst      int `json:"requestBurst,omitempty"`
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
	Total   int `json:"total,omitempty"`
	PerUser int `json:"perUser,omitempty"`
}

func (l *Limits) setDefaults() {
	l.Connections.setDefault(10_000, 1000)
	setInt(&l.StreamsPerConnection, 100) // as in kube-apiserver (CVE-2023-44487)
	l.Reads.setDefault(2000, 400)
	l.Writes.setDefault(1000, 200)
	l.Watches.setDefault(100_000, 10_000)
	l.Sessions.setDefault(2000, 200)
	setDuration(&l.QueueWait, 10*time.Second)
	setInt(&l.RequestsPerSecond, 1000)
	setInt(&l.RequestBurst, 2000)
	setInt(&l.HeaderBytes, 64<<10)
	setInt(&l.HeaderFields, 500)
	setDuration(&l.ReadHeaderTimeout, 20*time.Second)
	setDuration(&l.IdleTimeout, 2*time.Minute)
}

func (l *Limit) setDefault(total, perUser int) {
	setInt(&l.Total, total)
	setInt(&l.PerUser, perUser)
}

func (l *Limits) validate(p *problems) {
	for _, n := range []struct {
		field string
		value int
	}{
		{"connections.total", l.Connections.Total}, {"connections.perUser", l.Connections.PerUser},
		{"streamsPerConnection", l.StreamsPerConnection},
		{"reads.total", l.Reads.Total}, {"reads.perUser", l.Reads.PerUser},
		{"writes.total", l.Writes.Total}, {"writes.perUser", l.Writes.PerUser},
		{"watches.total", l.Watches.Total}, {"watches.perUser", l.Watches.PerUser},
		{"sessions.total", l.Sessions.Total}, {"sessions.perUser", l.Sessions.PerUser},
		{"requestsPerSecond", l.RequestsPerSecond}, {"requestBurst", l.RequestBurst},
		{"headerFields", l.HeaderFields},
	} {
		p.check(n.value > 0, "limits."+n.field, "must be positive")
	}
	p.check(l.HeaderBytes >= minHeaderBytes && l.HeaderBytes <= maxHeaderBytes, "limits.headerBytes", "must be between 4096 and 1048576")
	p.positive("limits.queueWait", l.QueueWait)
	p.positive("limits.readHeaderTimeout", l.ReadHeaderTimeout)
	p.positive("limits.idleTimeout", l.IdleTimeout)
}

const (
	minHeaderBytes = 4 << 10
	maxHeaderBytes = 1 << 20 // as in kube-apiserver
)
