package limits

import (
	"container/list"
	"context"
	"crypto/tls"
	"io"
	"net"
	"runtime"
	"sync"
	"time"

	"sluice/proxy/accept"
)

const (
	// patience is how long an unauthenticated connection may wait for its client, and servedFor how long it may be served, until
	// it makes room for another. The clients of a crowd answer late: they share their processors.
	patience, servedFor = 5 * time.Second, 40 * time.Second
	// authenticateWithin is how long a connection has for its first request, and placeWithin how long it waits for its place.
	authenticateWithin, placeWithin = 10 * time.Second, 30 * time.Second
	// slotFor is how long a connection has a processor at most.
	slotFor = 100 * time.Millisecond
	// outnumbered is the factor by which an address must outnumber a newcomer's to lose its oldest connection, even one being
	// served.
	outnumbered = 4
	// accepted bounds the connections that are accepted and not handed over yet. More wait in the kernel, and for them the oldest
	// closes that has not said anything for silentFor: in a crowd, first words wait to be read.
	accepted, silentFor = 4096, time.Second
	// roomEvery is how often it is tried to make room for connections that wait, here or in the kernel.
	roomEvery = 10 * time.Millisecond
)

// ListenerOptions configures a Listener. Memory is required.
type ListenerOptions struct {
	// TLS is the configuration of handshakes, nil for none. It has a GetCertificate.
	TLS *tls.Config
	// Memory counts the connections of users. Of others there are at most UnauthenticatedConnections.
	Memory *Memory
	// Failed is told of handshakes that fail; nil is not.
	Failed func(c net.Conn, err error)
}

// Listener bounds the connections that have had no authenticated request, and counts the others for their callers. If there
// are too many of the former, the oldest of the address with the most closes in favor of a new one, unless it is being
// served; new ones wait, those of the address with the fewest first.
type Listener struct {
	*accept.Listener
	options  ListenerOptions
	entering chan struct{} // has an element for each connection that is accepted and not handed over
	changed  chan struct{} // holds an element after waiting or unauthenticated have changed
	places   *Queue        // of unauthenticated connections
	cpu      *Queue        // of those of them whose bytes are decrypted and parsed, handshakes included

	mu              sync.Mutex            // guards what follows
	silent          list.List             // of *Conn that have not said anything, oldest first
	waiting         map[string]int        // connections that wait for a place, by address
	unauthenticated map[string]*list.List // of *Conn, oldest first, by address
}

// Listen returns a Listener for the connections of l, which it closes. A connection of another Listener that l passes on is
// counted already, and keeps its place.
func Listen(l net.Listener, o ListenerOptions) *Listener {
	w := &Listener{
		Listener: accept.New(l), options: o, entering: make(chan struct{}, accepted),
		changed: make(chan struct{}, 1), places: NewQueue(o.Memory.UnauthenticatedConnections, 0), cpu: NewQueue(runtime.GOMAXPROCS(0), 0),
		waiting: map[string]int{}, unauthenticated: map[string]*list.List{},
	}
	if o.TLS != nil {
		w.options.TLS = handshakeConfig(o.TLS)
	}
	go w.Run(func(c net.Conn) {
		w.queue()
		go func() {
			defer func() { <-w.entering }()
			w.enter(c)
		}()
	})
	go w.makeRooms()
	return w
}

// queue waits until another connection may enter.
func (l *Listener) queue() {
	for {
		select {
		case l.entering <- struct{}{}:
			return
		default:
			l.closeSilent()
		}
		select {
		case l.entering <- struct{}{}:
			return
		case <-time.After(roomEvery):
		}
	}
}

// closeSilent closes the oldest connection if it has been silent for too long.
func (l *Listener) closeSilent() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if oldest := l.silent.Front(); oldest != nil && time.Since(oldest.Value.(*Conn).since) > silentFor {
		_ = oldest.Value.(*Conn).Conn.Close()
		l.silent.Remove(oldest)
	}
}

// hear waits until the client of a connection says something: silence takes no place.
func (l *Listener) hear(c *Conn) error {
	l.mu.Lock()
	c.since = time.Now()
	e := l.silent.PushBack(c)
	l.mu.Unlock()
	_ = c.Conn.SetReadDeadline(time.Now().Add(authenticateWithin))
	stop := context.AfterFunc(l.Context(), func() { _ = c.Conn.Close() })
	_, err := io.ReadFull(c.Conn, c.first[:])
	stop()
	_ = c.Conn.SetReadDeadline(time.Time{})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.silent.Remove(e)
	c.heard = err == nil
	return err
}

// enter waits for the first byte of a connection and for a place, makes its handshake and hands it over. It runs in a goroutine of
// its own, so that the connection does not keep the stack that a handshake takes.
func (l *Listener) enter(inner net.Conn) {
	if connOf(inner) == nil {
		c := l.newConn(inner)
		inner = c
		if err := l.hear(c); err != nil {
			l.fail(c, err)
			return
		}
		if !l.admit(c) {
			_ = c.Close()
			return
		}
	}
	if l.options.TLS != nil {
		encrypted, err := l.handshake(inner)
		if err != nil {
			l.fail(inner, err)
			return
		}
		inner = encrypted
	}
	l.Hand(inner)
}

// fail closes a connection whose handshake has failed.
func (l *Listener) fail(c net.Conn, err error) {
	_ = c.Close()
	if l.options.TLS != nil && l.options.Failed != nil && l.Context().Err() == nil {
		l.options.Failed(c, err)
	}
}

// admit waits for a place among the unauthenticated connections.
func (l *Listener) admit(c *Conn) bool {
	ctx, cancel := context.WithTimeout(l.Context(), placeWithin)
	defer cancel()
	l.mu.Lock()
	l.waiting[c.address]++
	l.mu.Unlock()
	l.change()
	leave, err := l.places.Enter(ctx, Caller{Group: c.address}, 1)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting[c.address]--; l.waiting[c.address] == 0 {
		delete(l.waiting, c.address)
	}
	l.change()
	if err != nil {
		return false
	}
	of := l.unauthenticated[c.address]
	if of == nil {
		of = list.New()
		l.unauthenticated[c.address] = of
	}
	c.since, c.leave, c.element = time.Now(), leave, of.PushBack(c)
	c.late = time.AfterFunc(authenticateWithin, c.closeUnused)
	return true
}

// leave gives the place of a connection back, if it has one.
func (l *Listener) leave(c *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.element == nil {
		return
	}
	of := l.unauthenticated[c.address]
	of.Remove(c.element)
	if of.Len() == 0 {
		delete(l.unauthenticated, c.address)
	}
	c.element = nil
	c.late.Stop()
	c.leave()
}

// change wakes makeRooms.
func (l *Listener) change() {
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// makeRooms makes room while connections wait, until the Listener is closed.
func (l *Listener) makeRooms() {
	for {
		var again <-chan time.Time
		if l.makeRoom() {
			again = time.After(roomEvery)
		}
		select {
		case <-l.Context().Done():
			return
		case <-l.changed:
		case <-again:
		}
	}
}

// makeRoom closes a connection if others wait for its place, and reports whether any wait.
func (l *Listener) makeRoom() bool {
	_, _, waiting := l.places.Numbers()
	l.mu.Lock()
	if waiting == 0 {
		defer l.mu.Unlock()
		return len(l.waiting) > 0 // one is about to wait
	}
	victim := l.victim()
	l.mu.Unlock()
	if victim != nil {
		victim.cut()
	}
	return true
}

// victim returns the oldest connection of the address with the most that is not being served, or the oldest of all if one
// waits from an address with far fewer. The caller must hold mu.
func (l *Listener) victim() *Conn {
	var most *list.List
	for _, of := range l.unauthenticated {
		if most == nil || of.Len() > most.Len() {
			most = of
		}
	}
	if most == nil {
		return nil
	}
	for e := most.Front(); e != nil; e = e.Next() {
		if c := e.Value.(*Conn); !c.busy() {
			return c
		}
	}
	for address := range l.waiting {
		if of := l.unauthenticated[address]; of == nil && most.Len() > outnumbered || of != nil && most.Len() > outnumbered*(of.Len()+1) {
			return most.Front().Value.(*Conn)
		}
	}
	return nil
}
