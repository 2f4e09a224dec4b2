package connections

import (
	"fmt"
	"io"
	"math"
	"net"
	"slices"
	"testing"
	"testing/synctest"

	"sluice/proxy/accounts"
	"sluice/test/harness"
)

// listenTCP returns a listener on loopback, since only a socket tells whether something has come.
func listenTCP(t *testing.T, totals accounts.Totals) (*accounts.Ledger, net.Listener) {
	t.Helper()
	below, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := accounts.New(totals, math.MaxInt64)
	w := New(l).Listener(below)
	t.Cleanup(func() { _ = w.Close() })
	return l, w
}

// dial opens a connection that sends a text.
func dial(t *testing.T, l net.Listener, text string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	return c
}

// awaitUse waits until so much of a resource is used.
func awaitUse(t *testing.T, l *accounts.Ledger, r accounts.Resource, want int64) {
	t.Helper()
	harness.Eventually(t, r.String(), func() error {
		if n := l.Usage(r).Used; n != want {
			return fmt.Errorf("%d are used, want %d", n, want)
		}
		return nil
	})
}

func TestSilentConnectionsTakeNoPlaceOfStrangers(t *testing.T) {
	ledger, l := listenTCP(t, accounts.Totals{accounts.Silent: 50, accounts.Strangers: 1})
	for range 50 {
		dial(t, l, "")
	}
	awaitUse(t, ledger, accounts.Silent, 50)
	for range 2 {
		dial(t, l, "hello")
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 5)
		if _, err := io.ReadFull(c, got); err != nil || string(got) != "hello" {
			t.Errorf("%q, %v", got, err)
		}
		_ = c.Close()
	}
	if strangers := ledger.Usage(accounts.Strangers); strangers.Revoked > 0 {
		t.Errorf("%d strangers made room", strangers.Revoked)
	}
}

// A crowd that comes faster than its clients can speak loses none of its connections.
func TestConnectionsOfACrowdWaitUntilTheySpeak(t *testing.T) {
	const crowd = 200
	ledger, l := listenTCP(t, accounts.Totals{accounts.Strangers: 1, accounts.Connections: crowd})
	var clients []net.Conn
	for range crowd {
		clients = append(clients, dial(t, l, ""))
	}
	awaitUse(t, ledger, accounts.Silent, crowd)
	for i, c := range clients {
		if _, err := io.WriteString(c, "hello"); err != nil {
			t.Fatal(err)
		}
		accepted, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer accepted.Close()
		if err := unwrap(accepted).assign(ledger.Account(accounts.ByUser("agent"))); err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
	}
	awaitUse(t, ledger, accounts.Silent, 0)
	if n := ledger.Usage(accounts.Connections).Used; n != crowd {
		t.Errorf("%d connections", n)
	}
}

// Whoever comes from the address of a flood need not wait behind it, and others do not wait for more than one of its connections.
func TestNewestConnectionOfAnAddressIsAdmittedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := listen(t, 1, 10)
		last := l.accept("192.0.2.1:1")
		for _, address := range []string{"192.0.2.1:2", "192.0.2.1:3", "192.0.2.1:4", "192.0.2.2:5"} {
			l.inner.conns <- newFakeConn(address)
			synctest.Wait()
		}
		var order []string
		for range 4 {
			_ = last.Close()
			c, err := l.listener.Accept()
			if err != nil {
				t.Fatal(err)
			}
			last = c.(*conn)
			order = append(order, last.RemoteAddr().String())
		}
		if want := []string{"192.0.2.1:4", "192.0.2.2:5", "192.0.2.1:2", "192.0.2.1:3"}; !slices.Equal(order, want) {
			t.Errorf("admitted %v, want %v", order, want)
		}
		_ = last.Close()
		l.checkEmpty()
	})
}

func TestSilentConnectionsEnd(t *testing.T) {
	for name, end := range map[string]func(client net.Conn, l net.Listener){
		"when the client closes":    func(client net.Conn, _ net.Listener) { _ = client.Close() },
		"when the listener closes":  func(_ net.Conn, l net.Listener) { _ = l.Close() },
		"when others take the room": func(_ net.Conn, l net.Listener) { dial(t, l, "") },
	} {
		t.Run(name, func(t *testing.T) {
			ledger, l := listenTCP(t, accounts.Totals{accounts.Silent: 1, accounts.Strangers: 1})
			client := dial(t, l, "")
			awaitUse(t, ledger, accounts.Silent, 1)
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					_, _ = io.ReadAll(c)
					_ = c.Close()
				}
			}()
			end(client, l)
			if _, err := client.Read(make([]byte, 1)); err == nil {
				t.Error("the client reads something")
			}
		})
	}
}

func TestClientsThatHangUpNeverComeToTheDoor(t *testing.T) {
	ledger, l := listenTCP(t, accounts.Totals{accounts.Silent: 50, accounts.Strangers: 50})
	for range 20 {
		_ = dial(t, l, "").Close()
	}
	silent := dial(t, l, "") // comes after them
	awaitUse(t, ledger, accounts.Silent, 1)
	if n := ledger.Usage(accounts.Strangers).Used; n != 0 {
		t.Errorf("%d have become strangers", n)
	}
	_ = silent.Close()
	awaitUse(t, ledger, accounts.Silent, 0)
}

// Each would keep its goroutine for as long as newer ones come.
func TestConnectionsThatMakeRoomLeaveTheDoor(t *testing.T) {
	ledger, l := listenTCP(t, accounts.Totals{accounts.Silent: 2, accounts.Strangers: 1})
	dial(t, l, "hello")
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	unwrap(c).requests.Add(1)
	const more = 20
	for range more {
		dial(t, l, "hello")
	}
	harness.Eventually(t, "connections that make room", func() error {
		if n := ledger.Usage(accounts.Silent).Revoked; n < more-2 {
			return fmt.Errorf("%d", n)
		}
		return nil
	})
	door := l.(*listener).limiter.door
	harness.Eventually(t, "connections at the door", func() error {
		if _, n := door.Numbers(); n != 2 {
			return fmt.Errorf("%d", n)
		}
		return nil
	})
}
