package connections

import (
	"math"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"sluice/proxy/accounts"
)

// receiving is a listener whose connections may receive so much before their requests count.
func receiving(t *testing.T, unverified int64) *listening {
	l := listen(t, 10, 10)
	l.ledger.SetTotals(accounts.Totals{accounts.Strangers: 10, accounts.Connections: 10, accounts.Unverified: unverified, accounts.Requests: math.MaxInt64})
	return l
}

func (l *listening) used(r accounts.Resource) int64 { return l.ledger.Usage(r).Used }

func TestIncompleteHeaderCounts(t *testing.T) {
	for name, tt := range map[string]struct{ expands, most int64 }{"HTTP/1": {expansion, http1Most}, "handshake": {1, 1 << 40}} {
		t.Run(name, func(t *testing.T) {
			l := receiving(t, math.MaxInt64)
			c := l.accept("192.0.2.1:1")
			c.received.http1.Store(name == "HTTP/1")
			for range receivedFree {
				if err := c.receive(1); err != nil {
					t.Fatal(err)
				}
			}
			if n := l.used(accounts.Unverified); n != 0 {
				t.Errorf("%d bytes of a usual header count", n)
			}
			for _, received := range []int64{receivedFree + 1, 64 << 10, 2 * http1Most} {
				if err := c.receive(int(received - c.received.bytes.Load())); err != nil {
					t.Fatal(err)
				}
				held := tt.expands * (min(received, tt.most) - receivedFree)
				if n := l.used(accounts.Unverified); n < held || n > held+tt.expands*receivedStep {
					t.Errorf("%d bytes count of %d", n, received)
				}
			}
			c.Close()
			l.checkEmpty()
			if n := l.used(accounts.Unverified); n != 0 {
				t.Errorf("%d bytes of a closed connection count", n)
			}
		})
	}
}

// A request counts its header and body itself. The next header counts again.
func TestHTTP1CountsNothingBesideARequest(t *testing.T) {
	l := receiving(t, math.MaxInt64)
	c := l.accept("192.0.2.1:1")
	c.received.http1.Store(true)
	r := httptest.NewRequest("POST", lists, strings.NewReader("body"))
	for range 2 {
		if err := c.receive(receivedFree + 1); err != nil || l.used(accounts.Unverified) == 0 {
			t.Errorf("a header does not count: %v", err)
		}
		c.begin(r)
		if err := c.receive(1 << 20); err != nil || l.used(accounts.Unverified) != 0 {
			t.Errorf("%d bytes count beside the request: %v", l.used(accounts.Unverified), err)
		}
		c.end(r.Context(), r)
	}
	c.Close()
}

func TestIncompleteHeaderOfAUserCountsForTheUser(t *testing.T) {
	l := receiving(t, math.MaxInt64)
	c := l.accept("192.0.2.1:1")
	defer c.Close()
	c.received.http1.Store(true)
	r := httptest.NewRequest("GET", lists, nil)
	c.begin(r)
	if err := l.assign(c, "jane"); err != nil {
		t.Fatal(err)
	}
	c.end(r.Context(), r)
	if err := c.receive(32 << 10); err != nil {
		t.Fatal(err)
	}
	if stranger, user := l.used(accounts.Unverified), l.used(accounts.Requests); stranger != 0 || user != expansion*(32<<10-receivedFree) {
		t.Errorf("%d bytes of a stranger, %d of the user", stranger, user)
	}
}

func TestIncompleteHeadersMakeRoomForLighterAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := receiving(t, 64<<10)
		heavy, light := l.accept("192.0.2.1:1"), l.accept("192.0.2.2:1")
		if err := heavy.receive(receivedFree + 64<<10); err != nil {
			t.Fatal(err)
		}
		if err := light.receive(receivedFree + 1); err != nil || !heavy.isClosed() {
			t.Errorf("%v; the heavier connection is closed: %v", err, heavy.isClosed())
		}
		again := l.accept("192.0.2.1:2")
		if err := again.receive(receivedFree + 64<<10); err == nil {
			t.Error("there is memory for more than all")
		}
		for _, c := range []*conn{heavy, light, again} {
			c.Close()
		}
		l.checkEmpty()
	})
}

// Its server may be busy when a connection is cut. Until then it keeps what its streams take.
func TestCutConnectionCountsUntilItsServerClosesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := receiving(t, math.MaxInt64)
		m := multiplex(t, l.accept("192.0.2.1:1"))
		r, cancel := streamed()
		defer cancel()
		m.get(1, 40<<10)
		if err := l.assign(m.conn, "jane"); err != nil {
			t.Fatal(err)
		}
		held, _ := l.ledger.Memory()
		m.evict()
		if n, _ := l.ledger.Memory(); !m.isClosed() || held < 80<<10 || n != held || l.used(accounts.Requests) != 0 {
			t.Errorf("cut: %v; %d bytes of %d are leaving, %d are used", m.isClosed(), n, held, l.used(accounts.Requests))
		}
		m.begin(r)
		if n, _ := l.ledger.Memory(); n > held-40<<10 {
			t.Errorf("%d bytes of %d count beside the request", n, held)
		}
		for i := range uint32(testStreams - 1) {
			m.observe(&m.received, encode(http2.FrameHeaders, 0, 2*i+3, 20), (*streams).receive)
		}
		m.end(r.Context(), r)
		if n, _ := l.ledger.Memory(); n < testStreams*accounts.RequestBytes {
			t.Errorf("%d bytes count of streams that came before the end", n)
		}
		m.Close()
		l.checkEmpty()
		if n, _ := l.ledger.Memory(); n != 0 {
			t.Errorf("%d bytes of a closed connection count", n)
		}
	})
}

// So that a server with more requests than processors notices that it is closed.
func TestConnectionThatIsCutAwaitsNoRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := receiving(t, math.MaxInt64)
		m := multiplex(t, l.accept("192.0.2.1:1"))
		begin := time.Now()
		m.get(1, 20)
		if waited := time.Since(begin); waited != 0 {
			t.Errorf("it waits %v for a header that is not complete", waited)
		}
		m.receive(http2.FrameContinuation, http2.FlagHeadersEndHeaders, 1, 20) // which the server may answer itself
		if waited := time.Since(begin); waited != decision {
			t.Errorf("it waits %v for a request", waited)
		}
		begin = time.Now()
		m.observe(&m.received, encode(http2.FrameHeaders, http2.FlagHeadersEndHeaders, 3, 20), (*streams).receive)
		r, cancel := streamed()
		defer cancel()
		m.begin(r)
		time.AfterFunc(decision/4, func() { m.change((*streams).decide) })
		if err := m.await(true); err != nil || time.Since(begin) != decision/4 {
			t.Errorf("%v after %v, and the request is admitted after %v", err, time.Since(begin), decision/4)
		}
		begin = time.Now()
		m.observe(&m.received, encode(http2.FrameHeaders, http2.FlagHeadersEndHeaders, 5, 20), (*streams).receive)
		time.AfterFunc(decision/2, m.evict)
		if _ = m.await(true); time.Since(begin) != decision/2 {
			t.Errorf("it waits %v for a request after it is cut", time.Since(begin)-decision/2)
		}
		m.end(r.Context(), r)
	})
}
