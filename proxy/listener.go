package proxy

import (
	"net"
	"sync"

	"sluice/proxy/limits"
)

// listenerPart is the listener of one http.Server of several that accept the connections of one listener. A server stops
// accepting connections only by closing its listener, which would end those of the next server too.
type listenerPart struct {
	*limits.Listener
	ended chan struct{}
	end   sync.Once
}

// part returns a listener for one server. Closing it leaves l open.
func part(l *limits.Listener) net.Listener {
	return &listenerPart{Listener: l, ended: make(chan struct{})}
}

// Accept implements net.Listener.
func (p *listenerPart) Accept() (net.Conn, error) { return p.AcceptUntil(p.ended) }

// Close implements net.Listener.
func (p *listenerPart) Close() error {
	p.end.Do(func() { close(p.ended) })
	return nil
}
