package connections

import (
	"context"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/proxy/accounts"
)

// fakeConn is a connection from an address whose client sends nothing, or something once sent is closed.
type fakeConn struct {
	net.Conn
	address string
	once    sync.Once
	closed  chan struct{}
	sent    chan struct{}
}

func newFakeConn(address string) *fakeConn {
	return &fakeConn{address: address, closed: make(chan struct{})}
}

func (c *fakeConn) RemoteAddr() net.Addr {
	a, _ := net.ResolveTCPAddr("tcp", c.address)
	return a
}

func (c *fakeConn) SetWriteDeadline(time.Time) error { return nil }

func (c *fakeConn) Read([]byte) (int, error) {
	select {
	case <-c.sent:
		return 1, nil
	case <-c.closed:
		return 0, net.ErrClosed
	}
}

func (c *fakeConn) Write(p []byte) (int, error) { return len(p), nil }

func (c *fakeConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

// fakeListener accepts the connections that are sent to it.
type fakeListener struct {
	net.Listener
	conns chan *fakeConn
	once  sync.Once
}

func (l *fakeListener) Accept() (net.Conn, error) {
	c, ok := <-l.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (l *fakeListener) Close() error {
	l.once.Do(func() { close(l.conns) })
	return nil
}

// listening is a listener with few places for strangers and for users.
type listening struct {
	*testing.T
	ledger   *accounts.Ledger
	inner    *fakeListener
	listener net.Listener
}

func listen(t *testing.T, strangers, users int64) *listening {
	l := accounts.New(accounts.Totals{accounts.Strangers: strangers, accounts.Connections: users}, math.MaxInt64)
	inner := &fakeListener{conns: make(chan *fakeConn, 1)}
	w := New(l).Listener(inner)
	t.Cleanup(func() { _ = w.Close() })
	return &listening{t, l, inner, w}
}

// accept passes a new connection through the listener.
func (l *listening) accept(address string) *conn {
	l.Helper()
	l.inner.conns <- newFakeConn(address)
	c, err := l.listener.Accept()
	if err != nil {
		l.Fatal(err)
	}
	return c.(*conn)
}

// silent accepts a connection that waits for its client.
func (l *listening) silent(address string) *conn {
	c := l.accept(address)
	go func() { _, _ = c.Read(nil) }()
	synctest.Wait()
	return c
}

func (l *listening) assign(c *conn, user string) error {
	return c.assign(l.ledger.Account(accounts.ByUser(user)))
}

func (l *listening) checkEmpty() {
	l.Helper()
	time.Sleep(usherEvery) // until nobody makes room any more
	if places, waiting := l.listener.(*listener).limiter.door.Numbers(); places != 0 || waiting != 0 {
		l.Errorf("%d places are taken, %d wait", places, waiting)
	}
	for _, r := range []accounts.Resource{accounts.Strangers, accounts.Connections} {
		if n := l.ledger.Usage(r).Used; n != 0 {
			l.Errorf("%s: %d are left", r, n)
		}
	}
}

func (c *conn) isClosed() bool {
	synctest.Wait()
	select {
	case <-c.Conn.(*fakeConn).closed:
		return true
	default:
		return false
	}
}

func TestConnectionIsAStrangersAndThenItsUsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := listen(t, 4, 4)
		c := l.accept("192.0.2.1:1")
		count := func(r accounts.Resource, want int64) {
			t.Helper()
			if n := l.ledger.Usage(r).Used; n != want {
				t.Errorf("%s: %d, want %d", r, n, want)
			}
		}
		count(accounts.Strangers, 1)
		for _, user := range []string{"x", "x", "y"} {
			if err := l.assign(c, user); err != nil {
				t.Error(err)
			}
			count(accounts.Strangers, 0)
			count(accounts.Connections, 1)
		}
		_ = c.Close()
		_ = c.Close() // as net/http may
		l.checkEmpty()
	})
}

// An address with many connections loses its oldest, and others none.
func TestSilentStrangersMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := listen(t, 4, 4)
		other := l.silent("192.0.2.2:1")
		a, b, c := l.silent("192.0.2.1:1"), l.silent("192.0.2.1:2"), l.silent("192.0.2.1:3")
		time.Sleep(patience)
		d := l.silent("192.0.2.3:1")
		if !a.isClosed() || b.isClosed() || c.isClosed() || d.isClosed() || other.isClosed() {
			t.Errorf("closed: %v, %v, %v; of others: %v, %v", a.isClosed(), b.isClosed(), c.isClosed(), d.isClosed(), other.isClosed())
		}
		if err := l.assign(a, "x"); !errors.Is(err, net.ErrClosed) {
			t.Errorf("a connection that made room is assigned: %v", err)
		}
		for _, x := range []*conn{other, a, b, c, d} {
			_ = x.Close()
		}
		l.checkEmpty()
	})
}

// What Sluice and a client have computed is not thrown away as soon as what nobody has answered.
func TestStrangersThatWereAnsweredHaveLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := listen(t, 2, 2)
		a := l.accept("192.0.2.1:1")
		_, _ = a.Write([]byte("x"))
		go func() { _, _ = a.Read(nil) }()
		b := l.silent("192.0.2.1:2")
		time.Sleep(patience)
		c := l.silent("192.0.2.1:3")
		if a.isClosed() || !b.isClosed() {
			t.Errorf("closed: the one that was answered %v, the other %v", a.isClosed(), b.isClosed())
		}
		time.Sleep(answerPatience)
		d := l.silent("192.0.2.1:4")
		if !a.isClosed() || c.isClosed() {
			t.Errorf("closed later: the one that was answered %v, the other %v", a.isClosed(), c.isClosed())
		}
		for _, x := range []*conn{a, b, c, d} {
			_ = x.Close()
		}
		l.checkEmpty()
	})
}

// When everybody comes back at once, nobody is turned away for being slower than the rest.
func TestNewConnectionsWaitWhileStrangersAreBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := listen(t, 2, 10)
		a, b := l.accept("192.0.2.1:1"), l.accept("192.0.2.1:2")
		accepted := make(chan *conn)
		go func() { accepted <- l.accept("192.0.2.2:1") }()
		time.Sleep(introduction / 2)
		synctest.Wait()
		select {
		case <-accepted:
			t.Fatal("a connection is accepted beyond the total")
		default:
		}
		if a.isClosed() || b.isClosed() {
			t.Error("a busy connection made room")
		}
		if err := l.assign(a, "x"); err != nil {
			t.Fatal(err)
		}
		c := <-accepted
		go func() { accepted <- l.accept("192.0.2.1:3") }()
		d := <-accepted // once b has had its time
		if !b.isClosed() || a.isClosed() || c.isClosed() {
			t.Errorf("closed: %v, %v, %v", a.isClosed(), b.isClosed(), c.isClosed())
		}
		for _, x := range []*conn{a, b, c, d} {
			_ = x.Close()
		}
		l.checkEmpty()
	})
}

// Requests of one address that wait for the apiserver kept everybody out, for up to 10 s at a time.
func TestBusyStrangersOfOneAddressKeepNoOtherOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const places = 20
		l := listen(t, places, 10)
		var all []*conn
		for range places {
			c := l.accept("192.0.2.1:1")
			c.requests.Add(1)
			all = append(all, c)
		}
		start := time.Now()
		var others []*conn
		for range overruledHolds(places) {
			others = append(others, l.accept("192.0.2.2:1"))
		}
		if waited := time.Since(start); waited > usherEvery {
			t.Errorf("others are accepted after %v", waited)
		}
		for i, c := range all {
			if closed := c.isClosed(); closed != (i < len(others)) {
				t.Errorf("connection %d is closed: %v", i, closed)
			}
		}
		for _, c := range append(all, others...) {
			_ = c.Close()
		}
		l.checkEmpty()
	})
}

// overruledHolds returns how many of so many places of one address another gets.
func overruledHolds(places int) int {
	n := 0
	for places > 4*(n+1) {
		n++
		places--
	}
	return n
}

// Responses that nobody reads occupy no connection of a stranger.
func TestStrangerThatAcceptsNothingMakesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := listen(t, 1, 10)
		c := l.accept("192.0.2.1:1")
		client, server := net.Pipe()
		defer client.Close()
		c.Conn = server
		go func() { _, _ = c.Write([]byte("x")) }()
		time.Sleep(patience)
		start := time.Now()
		other := l.accept("192.0.2.1:2")
		if waited := time.Since(start); waited > usherEvery {
			t.Errorf("the next one is accepted after %v", waited)
		}
		_ = other.Close()
		synctest.Wait()
		l.checkEmpty()
	})
}

func TestRequestOfAStrangerThatWaitsForItsBodyMakesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := listen(t, 1, 10)
		stalled := l.accept("192.0.2.1:1")
		body, client := io.Pipe()
		h := WithConnection(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if time.Sleep(patience); !stalled.busy() {
				t.Error("a request that does not wait for its client makes room")
			}
			_, _ = io.Copy(io.Discard, r.Body)
		}))
		r := httptest.NewRequest(http.MethodPost, "/", body)
		go h.ServeHTTP(httptest.NewRecorder(), r.WithContext(context.WithValue(r.Context(), connKey{}, stalled)))
		go func() { _, _ = stalled.Read(nil) }()
		start := time.Now()
		other := l.accept("192.0.2.2:1")
		if waited := time.Since(start); !stalled.isClosed() || waited > 2*patience {
			t.Errorf("the next one is accepted after %v; the stalled one is closed: %v", waited, stalled.isClosed())
		}
		_ = client.Close()
		_ = other.Close()
		synctest.Wait()
		l.checkEmpty()
	})
}

func TestClosedListenerAcceptsNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := listen(t, 0, 0)
		waiting := newFakeConn("192.0.2.1:1")
		l.inner.conns <- waiting
		failed := make(chan error)
		go func() {
			_, err := l.listener.Accept()
			failed <- err
		}()
		synctest.Wait()
		_ = l.listener.Close()
		if err := <-failed; !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
		<-waiting.closed
	})
}

// One service account on all nodes may have all connections, until somebody else comes.
func TestConnectionsOfTheHeaviestUserMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := listen(t, 4, 4)
		var agents []*conn
		for range 4 {
			c := l.accept("192.0.2.1:1")
			if err := l.assign(c, "system:serviceaccount:kube-system:agent"); err != nil {
				t.Fatal(err)
			}
			agents = append(agents, c)
		}
		c := l.accept("192.0.2.1:1")
		if err := l.assign(c, "jane"); err != nil {
			t.Fatal(err)
		}
		if agents[0].isClosed() || !agents[3].isClosed() {
			t.Error("not the newest was closed")
		}
		d := l.accept("192.0.2.1:1")
		if err := l.assign(d, "system:serviceaccount:kube-system:agent"); err == nil {
			t.Error("the heaviest user gets one more")
		}
		for _, x := range append(agents, c, d) {
			_ = x.Close()
		}
		l.checkEmpty()
	})
}

func TestRequestsKeepTheirConnection(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		l := accounts.New(accounts.Totals{accounts.Strangers: 1, accounts.Connections: 1}, math.MaxInt64)
		started, proceed := make(chan bool), make(chan struct{})
		s := httptest.NewUnstartedServer(WithConnection(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			c := connFrom(r.Context())
			started <- r.ProtoMajor == 2
			<-proceed
			if !c.busy() {
				t.Error("the connection of a request waits for its client")
			}
			if err := c.assign(l.Account(accounts.ByUser("x"))); err != nil {
				t.Error(err)
			}
		})))
		s.Listener, s.Config.ConnContext, s.EnableHTTP2 = New(l).Listener(s.Listener), ConnContext, http2
		s.StartTLS()
		failed := make(chan error)
		go func() {
			resp, err := s.Client().Get(s.URL)
			if err == nil {
				resp.Body.Close()
			}
			failed <- err
		}()
		if <-started != http2 {
			t.Error("the protocol is another")
		}
		next, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		close(proceed)
		if err := <-failed; err != nil {
			t.Error(err)
		}
		_ = next.Close()
		s.Close()
	}
}

// A crowd of addresses with one silent connection each keeps nobody out.
func TestSilentStrangersOfManyAddressesMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := listen(t, 4, 4)
		var crowd []*conn
		for _, address := range []string{"192.0.2.1:1", "192.0.2.2:1", "192.0.2.3:1", "192.0.2.4:1"} {
			crowd = append(crowd, l.silent(address))
		}
		accepted := make(chan *conn, 1)
		go func() { accepted <- l.accept("192.0.2.5:1") }()
		time.Sleep(2 * introduction)
		synctest.Wait()
		select {
		case c := <-accepted:
			_ = c.Close()
		default:
			t.Error("a new connection waits for ever")
			_ = l.listener.Close()
		}
		for _, c := range crowd {
			_ = c.Close()
		}
		synctest.Wait()
	})
}
