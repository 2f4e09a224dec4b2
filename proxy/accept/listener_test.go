package accept

import (
	"errors"
	"net"
	"testing"
	"testing/synctest"

	"sluice/test/support/proxytest"
)

func TestConnectionsAreAcceptedOrClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := proxytest.NewListener()
		l := New(inner)
		go l.Run(func(c net.Conn) { l.Hand(c) })
		dial := func() net.Conn {
			c, err := inner.Dial(t.Context(), "", "")
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		first, late := dial(), make(chan net.Conn, 1)
		go func() { late <- dial() }() // nobody accepts it
		if c, err := l.Accept(); err != nil || c.Close() != nil {
			t.Errorf("a connection is not accepted: %v", err)
		}
		_ = first.Close()
		second := <-late
		synctest.Wait()
		ended := make(chan struct{})
		close(ended)
		_ = l.Close()
		if _, err := second.Read(make([]byte, 1)); err == nil {
			t.Error("a connection that nobody accepts stays open")
		}
		for _, end := range []<-chan struct{}{nil, ended} {
			if _, err := l.AcceptUntil(end); !errors.Is(err, net.ErrClosed) {
				t.Errorf("a closed listener accepts: %v", err)
			}
		}
	})
}
