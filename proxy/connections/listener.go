package connections

import (
	"context"
	"net"
	"syscall"
	"time"

	"sluice/proxy/accept"
	"sluice/proxy/accounts"
)

// Listener returns a listener that counts the connections of inner. It accepts those whose clients have sent something: the
// others wait where they cost little, so that neither silent ones take the place of those who speak, nor those of a crowd
// that comes faster than its clients can speak the place of each other. A connection that another listener of the
// same Limiter has accepted is counted already, even if it is wrapped. The server must have
// ConnContext as its http.Server.ConnContext.
func (l *Limiter) Listener(inner net.Listener) net.Listener {
	w := &listener{accept.New(inner), l}
	go w.Run(w.begin)
	return w
}

// listener is a listener whose connections are counted.
type listener struct {
	*accept.Listener
	limiter *Limiter
}

// begin makes a connection wait for its client, or passes on one that is counted.
func (l *listener) begin(accepted net.Conn) {
	if counted := unwrap(accepted); counted != nil && counted.limiter == l.limiter {
		l.Hand(accepted)
		return
	}
	c := l.limiter.conn(accepted)
	ctx, end := context.WithCancel(l.Context())
	below, silent := accepted.(syscall.Conn) // others are no sockets
	if silent {
		g, err := l.limiter.ledger.Account(c.address).TakeRevocable(accounts.Silent, 1, end)
		if err != nil {
			end()
			_ = accepted.Close()
			return
		}
		c.grant = g
	}
	go func() {
		defer end()
		late := time.AfterFunc(introduction, end)
		defer late.Stop()
		stays := context.AfterFunc(ctx, func() { _ = c.Close() })
		speaks := !silent || speaks(below)
		late.Reset(doorPatience)
		if !speaks || !c.admit(ctx) || !stays() {
			_ = c.Close()
			return
		}
		l.Hand(c)
	}()
}

// speaks waits until the client of a connection has sent something, and returns false if the connection closes before. It reads
// nothing, and so needs no buffer and the smallest of stacks.
func speaks(c syscall.Conn) bool {
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	var first [1]byte
	n := 0
	err = raw.Read(func(fd uintptr) bool {
		var err error
		n, _, err = syscall.Recvfrom(int(fd), first[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		return err != syscall.EAGAIN && err != syscall.EINTR
	})
	return err == nil && n > 0
}
