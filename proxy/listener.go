package proxy

import (
	"errors"
	"net"
	"sync"
)

// sharedListener lets one http.Server after the other accept the connections of one net.Listener. A
// server stops accepting connections only by closing its listener, which would end those of the next
// server too.
type sharedListener struct {
	net.Listener
	accepted chan accepted
	closed   chan struct{}
	once     sync.Once
}

// accepted is the result of one Accept.
type accepted struct {
	conn net.Conn
	err  error
}

// share returns a sharedListener of l. The caller must close it.
func share(l net.Listener) *sharedListener {
	s := &sharedListener{Listener: l, accepted: make(chan accepted), closed: make(chan struct{})}
	go s.run()
	return s
}

// run accepts connections until the listener is closed.
func (s *sharedListener) run() {
	for {
		conn, err := s.Listener.Accept()
		select {
		case s.accepted <- accepted{conn, err}:
		case <-s.closed:
			if conn != nil {
				_ = conn.Close()
			}
			return
		}
		if errors.Is(err, net.ErrClosed) {
			return
		}
	}
}

// Close implements net.Listener.
func (s *sharedListener) Close() error {
	s.once.Do(func() { close(s.closed) })
	return s.Listener.Close()
}

// part returns a listener for one server. Closing it leaves the sharedListener open.
func (s *sharedListener) part() net.Listener {
	return &listenerPart{sharedListener: s, ended: make(chan struct{})}
}

// listenerPart is the listener of one server.
type listenerPart struct {
	*sharedListener
	ended chan struct{}
	end   sync.Once
}

// Accept implements net.Listener.
func (p *listenerPart) Accept() (net.Conn, error) {
	select {
	case <-p.ended:
		return nil, net.ErrClosed
	case <-p.closed:
		return nil, net.ErrClosed
	case a := <-p.accepted:
		return a.conn, a.err
	}
}

// Close implements net.Listener.
func (p *listenerPart) Close() error {
	p.end.Do(func() { close(p.ended) })
	return nil
}
