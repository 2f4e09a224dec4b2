package flowcontrol

import (
	"context"
	"net"
	"syscall"
	"time"

	"sluice/proxy/accept"
	"sluice/proxy/accounts"
)

// admitEvery is how often a listener looks whether there is room for the connection at its door.
const admitEvery = 10 * time.Millisecond

// Listener returns a listener that counts the connections of l. It accepts those whose clients have sent something: the
// others wait where they cost little, so that neither silent ones take the place of those who speak, nor those of a crowd
// that comes faster than its clients can speak the place of each other. A connection that another listener of the
// same Connections has accepted is counted already, even if it is wrapped. The server must have
// ConnContext as its http.Server.ConnContext.
func (c *Connections) Listener(l net.Listener) net.Listener {
	w := &listener{accept.New(l), c, NewQueue(1).NewestFirst()}
	go w.Run(w.begin)
	return w
}

// listener is a listener whose connections are counted.
type listener struct {
	*accept.Listener
	connections *Connections
	door        *Queue // at which one waits to be admitted, by the address in turn: of a flood's address the newest
}

// begin makes a connection wait for its client, or passes on one that is counted.
func (l *listener) begin(accepted net.Conn) {
	if counted := unwrap(accepted); counted != nil && counted.connections == l.connections {
		l.Hand(accepted)
		return
	}
	c := l.connections.conn(accepted)
	below, silent := accepted.(syscall.Conn) // others are no sockets
	if silent {
		g, err := l.connections.ledger.Account(c.address).TakeRevocable(accounts.Silent, 1, c.evict)
		if err != nil {
			_ = accepted.Close()
			return
		}
		c.hold(g)
	}
	go func() {
		defer context.AfterFunc(l.Context(), c.evict)()
		if silent && !c.speaks(below) || !l.admit(c) {
			_ = c.Close()
			return
		}
		l.Hand(c)
	}()
}

// admit waits until the connection is a stranger's. It returns false if the listener is closed before that.
func (l *listener) admit(c *conn) bool {
	t := l.door.Join(c.address, 1, 0)
	defer t.Leave()
	if t.wait(l.Context()) != nil {
		return false
	}
	if c.admit() {
		return true
	}
	again := time.NewTicker(admitEvery)
	defer again.Stop()
	for !c.admit() {
		select {
		case <-l.Context().Done():
			return false
		case <-again.C:
		}
	}
	return true
}

// hold makes the connection hold the grant of one that is silent.
func (c *conn) hold(g *accounts.Grant) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.grant = g
}

// speaks waits until the client has sent something or closes the connection. It reads nothing, and so needs no buffer and
// the smallest of stacks. It returns false if the client takes too long, or the connection closes.
func (c *conn) speaks(below syscall.Conn) bool {
	raw, err := below.SyscallConn()
	if err != nil || c.SetReadDeadline(time.Now().Add(introduction)) != nil {
		return false
	}
	var first [1]byte
	err = raw.Read(func(fd uintptr) bool {
		_, _, err := syscall.Recvfrom(int(fd), first[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		return err != syscall.EAGAIN
	})
	return err == nil && c.SetReadDeadline(time.Time{}) == nil
}
