package connections

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"sluice/proxy/accounts"
)

// speak makes the client of a connection send something, which Sluice reads once it is its turn.
func (l *listening) speak(c *conn) (read chan error) {
	sent := make(chan struct{})
	close(sent)
	c.Conn.(*fakeConn).sent = sent
	read = make(chan error, 1)
	go func() {
		_, err := c.Read(nil)
		read <- err
	}()
	synctest.Wait()
	return read
}

// Else what thousands of clients have sent would be read before a step of somebody who is known.
func TestStrangersTakeTurnsOfTheProcessors(t *testing.T) {
	request := httptest.NewRequest(http.MethodGet, "/", nil)
	for name, end := range map[string]func(l *listening, c *conn){
		"waits for its client": func(_ *listening, c *conn) {
			c.Conn.(*fakeConn).sent = nil
			go func() { _, _ = c.Read(nil) }()
		},
		"waits for a review": func(_ *listening, c *conn) { c.begin(request) },
		"is known":           func(l *listening, c *conn) { _ = l.assign(c, "jane") },
		"closes":             func(_ *listening, c *conn) { _ = c.Close() },
		"is refused without a handler": func(l *listening, c *conn) {
			c.received.http1.Store(true)
			turn := c.turn.Load()
			if _, _ = c.Write(make([]byte, tlsRecord)); c.turn.Load() != turn {
				l.Error("the answer to a KeyUpdate ends the turn")
			}
			_, _ = c.Write(make([]byte, tlsRecord+1))
		},
		"takes long": func(*listening, *conn) { time.Sleep(longestTurn) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := listen(t, 100, 100)
				turns := l.listener.(*listener).limiter.turns
				turns.SetPlaces(4) // however many processors there are
				first := l.accept("192.0.2.1:1")
				all := []*conn{first}
				l.speak(first)
				for range turns.Places() - 1 {
					c := l.accept("192.0.2.1:1")
					l.speak(c)
					all = append(all, c)
				}
				same, another, known := l.accept("192.0.2.1:1"), l.accept("192.0.2.2:1"), l.accept("192.0.2.1:1")
				all = append(all, same, another, known)
				if err := l.assign(known, "joe"); err != nil {
					t.Fatal(err)
				}
				waits, next := l.speak(same), l.speak(another)
				if len(waits)+len(next) > 0 {
					t.Error("one more has a turn")
				}
				if len(l.speak(known)) == 0 {
					t.Error("one that is known waits")
				}
				end(l, first)
				synctest.Wait()
				if len(next) == 0 || len(waits) > 0 && name != "takes long" {
					t.Errorf("the next turn: %d of another address, %d of the same", len(next), len(waits))
				}
				for _, c := range all {
					_ = c.Close()
				}
				synctest.Wait()
				if len(waits) == 0 {
					t.Error("a connection that has closed waits")
				}
				if taken, waiting := turns.Numbers(); taken != 0 || waiting != 0 {
					t.Errorf("%d turns are taken, %d wait", taken, waiting)
				}
				l.checkEmpty()
			})
		})
	}
}

// Clients of a crowd share a processor, and those that do not go on keep no others out.
func TestHandshakesOfFewStrangersRunAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := listen(t, 10*introducing, 10)
		var all []*conn
		for range introducing {
			all = append(all, l.accept("192.0.2.1:1"))
		}
		request := httptest.NewRequest(http.MethodGet, "/", nil)
		for i, free := range []func(){
			func() { all[0].begin(request) },
			func() { _ = all[1].Close() },
			func() {
				go func() { _, _ = all[2].Read(nil) }()
				time.Sleep(2 * helloPatience)
			},
			func() { // it is answered, and does not go on
				_, _ = all[3].Write(nil)
				go func() { _, _ = all[3].Read(nil) }()
				time.Sleep(stepPatience + 2*helloPatience)
			},
			func() { // its request was refused without a handler
				all[4].received.http1.Store(true)
				_, _ = all[4].Write(make([]byte, tlsRecord+1))
			},
			func() { time.Sleep(introducedFor) },
		} {
			next := make(chan *conn, 1)
			go func() { next <- l.accept("192.0.2.2:1") }()
			synctest.Wait()
			if len(next) > 0 {
				t.Fatal("one more is accepted")
			}
			free()
			synctest.Wait()
			if len(next) == 0 {
				t.Fatalf("%d: none is accepted", i)
			}
			all = append(all, <-next)
		}
		for _, c := range all {
			_ = c.Close()
		}
		if in, _ := l.listener.(*listener).limiter.entry.Numbers(); in != 0 {
			t.Errorf("%d places are taken", in)
		}
		l.checkEmpty()
	})
}

// A new client behind the address of a flood does not wait for the whole flood, and the oldest client of a crowd is not starved.
func TestNewestAndOldestConnectionOfAnAddressAlternate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := listen(t, 10*introducing, 10)
		var all []*conn
		for range introducing {
			all = append(all, l.accept("192.0.2.2:1"))
		}
		for port := range 4 {
			l.inner.conns <- newFakeConn(fmt.Sprint("192.0.2.1:", port+1))
			synctest.Wait()
		}
		var order []string
		for i := range 4 {
			_ = all[i].Close()
			c, err := l.listener.Accept()
			if err != nil {
				t.Fatal(err)
			}
			order, all = append(order, c.RemoteAddr().String()), append(all, c.(*conn))
		}
		if want := []string{"192.0.2.1:1", "192.0.2.1:4", "192.0.2.1:2", "192.0.2.1:3"}; !slices.Equal(order, want) {
			t.Errorf("accepted %q, want %q", order, want)
		}
		for _, c := range all {
			_ = c.Close()
		}
		l.checkEmpty()
	})
}

// TestConnectionsOfSuspectTokensMakeRoom: otherwise those of one address would fill its door.
func TestConnectionsOfSuspectTokensMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := listen(t, 10, 10)
		c := l.accept("192.0.2.1:1")
		ctx := ConnContext(t.Context(), c)
		request := httptest.NewRequest(http.MethodGet, "/", nil)
		busy := func(want bool, when string) {
			if c.busy() != want {
				t.Errorf("busy %s: %v", when, !want)
			}
		}
		c.begin(request)
		busy(true, "with a request")
		done := Yield(ctx)
		busy(false, "while its token waits among suspect ones")
		c.begin(request)
		busy(true, "with another request besides")
		c.end(request.Context(), request)
		done()
		busy(true, "after the review")
		c.end(request.Context(), request)
		_ = c.Close()
		l.checkEmpty()
	})
}

// What callers may take becomes less while stores fill; thousands of waiting connections closed then.
func TestNewConnectionsGoOnWaitingWhenThereIsRoomForFewerStrangers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := listen(t, 3, 10)
		var strangers []*conn
		for range 3 {
			strangers = append(strangers, l.accept("192.0.2.1:1"))
		}
		waits := newFakeConn("192.0.2.1:2")
		l.inner.conns <- waits
		synctest.Wait()
		l.ledger.SetTotals(accounts.Totals{accounts.Strangers: 1, accounts.Connections: 10})
		for i, c := range strangers {
			if err := l.assign(c, "x"); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			select {
			case <-waits.closed:
				t.Fatalf("the waiting connection closed when there were %d strangers", 2-i)
			default:
			}
		}
		next, err := l.listener.Accept()
		if err != nil || next.(*conn).Conn != net.Conn(waits) {
			t.Fatalf("accepted %v, %v", next, err)
		}
		for _, c := range append(strangers, next.(*conn)) {
			_ = c.Close()
		}
		l.checkEmpty()
	})
}
