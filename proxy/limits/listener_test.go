package limits

import (
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"sluice/test/support/proxytest"
)

// call connects from an address with a client that says something.
func call(n *proxytest.Listener, address string) net.Conn {
	client := n.DialFrom(address)
	go func() { _, _ = client.Write([]byte("x")) }()
	return client
}

// door is a Listener with so many places, whose connections are served by reading them.
type door struct {
	*Listener
	network *proxytest.Listener
	memory  *Memory
	served  chan *Conn
}

// call connects from an address with a client that says something.
func (d *door) call(address string) net.Conn { return call(d.network, address) }

// enter runs a test with a door.
func enter(t *testing.T, places int, test func(t *testing.T, d *door)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := &door{network: proxytest.NewListener(), memory: NewMemory(1<<30, 1<<20), served: make(chan *Conn, 1000)}
		d.memory.UnauthenticatedConnections = places
		d.Listener = Listen(d.network, ListenerOptions{Memory: d.memory})
		go func() {
			for {
				c, err := d.Listener.Accept()
				if err != nil {
					return
				}
				d.served <- c.(*Conn)
				go func() {
					_, _ = io.Copy(io.Discard, c)
					_ = c.Close()
				}()
			}
		}()
		test(t, d)
		_ = d.Listener.Close()
		synctest.Wait()
	})
}

// isOpen reports whether a client is connected.
func isOpen(c net.Conn) bool {
	_ = c.SetReadDeadline(time.Now())
	_, err := c.Read(make([]byte, 1))
	return !errors.Is(err, io.EOF)
}

// authenticated has the newest served connection count for a caller.
func (d *door) authenticated(t *testing.T, c Caller) *Conn {
	t.Helper()
	conn := <-d.served
	if err := Authenticated(ConnContext(t.Context(), conn), c); err != nil {
		t.Fatal(err)
	}
	return conn
}

func TestTheOldestOfTheLargestAddressClosesForANewConnection(t *testing.T) {
	enter(t, 3, func(t *testing.T, d *door) {
		light := d.call("192.0.2.1")
		defer light.Close()
		first := d.call("192.0.2.2")
		synctest.Wait()
		second := d.call("192.0.2.2")
		defer second.Close()
		time.Sleep(patience + time.Second)
		newest := d.call("192.0.2.1")
		defer newest.Close()
		time.Sleep(2 * roomEvery)
		if isOpen(first) || !isOpen(second) || !isOpen(light) || !isOpen(newest) {
			t.Errorf("open: %v, %v; of the light address %v, %v", isOpen(first), isOpen(second), isOpen(light), isOpen(newest))
		}
	})
}

func TestAConnectionThatIsServedKeepsItsPlaceFromItsOwnAddress(t *testing.T) {
	enter(t, 1, func(t *testing.T, d *door) {
		busy := d.call("192.0.2.1")
		defer busy.Close()
		served := <-d.served
		served.requests.Add(1)
		next := d.call("192.0.2.1")
		defer next.Close()
		time.Sleep(authenticateWithin / 2)
		if !isOpen(busy) || len(d.served) > 0 {
			t.Errorf("open: %v, %d others are served", isOpen(busy), len(d.served))
		}
		served.requests.Add(-1)
		time.Sleep(patience + time.Second)
		if <-d.served; isOpen(busy) {
			t.Error("a connection that waits for its client keeps its place")
		}
	})
}

func TestAnAddressThatOutnumbersANewcomerLosesWhatIsServed(t *testing.T) {
	enter(t, 12, func(t *testing.T, d *door) {
		var many []net.Conn
		for i := range 12 { // an address may have three quarters
			many = append(many, d.call(fmt.Sprint("192.0.2.", 1+max(0, i-8))))
			(<-d.served).requests.Add(1)
		}
		newcomer := d.call("192.0.2.9")
		<-d.served
		synctest.Wait()
		if isOpen(many[0]) || !isOpen(many[1]) || !isOpen(many[11]) || !isOpen(newcomer) {
			t.Errorf("open: %v, %v, %v, the newcomer %v", isOpen(many[0]), isOpen(many[1]), isOpen(many[11]), isOpen(newcomer))
		}
		for _, c := range append(many, newcomer) {
			_ = c.Close()
		}
	})
}

func TestAConnectionWithoutARequestCloses(t *testing.T) {
	enter(t, 10, func(t *testing.T, d *door) {
		unused, used := d.call("192.0.2.1"), d.call("192.0.2.1")
		defer func() { _, _ = unused.Close(), used.Close() }()
		<-d.served
		(<-d.served).used.Store(true)
		time.Sleep(authenticateWithin + time.Second)
		if isOpen(unused) == isOpen(used) {
			t.Errorf("open: %v without a request, %v with one", isOpen(unused), isOpen(used))
		}
	})
}

func TestAnAuthenticatedConnectionLeavesItsPlaceAndCountsForItsCaller(t *testing.T) {
	enter(t, 1, func(t *testing.T, d *door) {
		client := d.call("192.0.2.1")
		conn := d.authenticated(t, caller("jane"))
		if u := d.memory.Users.Usage(); u.Held != d.memory.ConnectionBytes || u.Heaviest != "jane" {
			t.Errorf("held: %+v", u)
		}
		for range 3 { // others come and go
			other := d.call("192.0.2.1")
			<-d.served
			_ = other.Close()
			synctest.Wait()
		}
		time.Sleep(2 * authenticateWithin)
		if c, known := CallerOf(ConnContext(t.Context(), conn)); !isOpen(client) || !known || c.Group != "jane" {
			t.Errorf("open: %v, it is of %+v", isOpen(client), c)
		}
		_ = client.Close()
		synctest.Wait()
		if u := d.memory.Users.Usage(); u.Held != 0 {
			t.Errorf("held after the end: %+v", u)
		}
	})
}

func TestAConnectionOfTheHeaviestCallerClosesForOthers(t *testing.T) {
	enter(t, 10, func(t *testing.T, d *door) {
		d.memory.Users.SetTotal(8*d.memory.ConnectionBytes + d.memory.ConnectionBytes/2)
		var heavy []net.Conn
		for range 7 {
			heavy = append(heavy, d.call("192.0.2.1"))
			d.authenticated(t, caller("heavy"))
		}
		defer d.call("192.0.2.1").Close()
		d.authenticated(t, caller("light"))
		synctest.Wait()
		open := 0
		for _, c := range heavy {
			if isOpen(c) {
				open++
			}
			_ = c.Close()
		}
		if open != 6 {
			t.Errorf("%d of 7 connections are open", open)
		}
	})
}

func TestSilenceTakesNoPlace(t *testing.T) {
	enter(t, 1, func(t *testing.T, d *door) {
		var silent []net.Conn
		for range accepted + 1 {
			silent = append(silent, d.network.DialFrom("192.0.2.1"))
			synctest.Wait()
		}
		if !isOpen(silent[0]) {
			t.Error("a connection closes at once, though its client may have spoken")
		}
		client := d.call("192.0.2.1")
		<-d.served
		if isOpen(silent[0]) || !isOpen(silent[accepted]) || !isOpen(client) {
			t.Errorf("open: the oldest %v, the newest %v, the client %v", isOpen(silent[0]), isOpen(silent[accepted]), isOpen(client))
		}
		for _, c := range append(silent, client) {
			_ = c.Close()
		}
	})
}

// net/http reads a byte ahead while a request runs, and does not read again until it ends.
func TestAReadAheadKeepsNoProcessor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := proxytest.NewListener()
		l := Listen(n, ListenerOptions{Memory: NewMemory(1<<30, 1<<20)})
		client := call(n, "192.0.2.1")
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * slotFor)
		if _, taken, _ := l.cpu.Numbers(); taken > 0 {
			t.Errorf("%d processors are taken", taken)
		}
		_ = client.Close()
		_ = c.Close()
		_ = l.Close()
	})
}
