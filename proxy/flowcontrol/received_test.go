package flowcontrol

import (
	"io"
	"math"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

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
	for name, tt := range map[string]struct{ expands, most int64 }{"HTTP/1": {expansion, http1Most}, "HTTP/2": {1, http2Most}} {
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
			for _, received := range []int64{receivedFree + 1, 64 << 10, 2 * tt.most} {
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
		c.end(httptest.NewRecorder(), r)
	}
	c.Close()
}

// Over HTTP/2 the headers of other requests may wait for their handlers to begin, which the processors may delay.
func TestHTTP2CountsRequestsThatHaveNotBegun(t *testing.T) {
	l := receiving(t, math.MaxInt64)
	c := l.accept("192.0.2.1:1")
	r := httptest.NewRequest("GET", lists, nil)
	r.ProtoMajor = 2
	r.Header.Set("Authorization", strings.Repeat("x", 60<<10))
	const requests = 100
	for range requests {
		if err := c.receive(60<<10 + 100); err != nil {
			t.Fatal(err)
		}
	}
	for left := int64(requests); left > 0; left-- {
		if n := l.used(accounts.Unverified); n < (left-1)*(60<<10) || n > left*(61<<10) {
			t.Fatalf("%d bytes count of %d headers", n, left)
		}
		c.begin(r)
		if left == requests/2 {
			if err := l.assign(c, "jane"); err != nil || l.used(accounts.Unverified) != 0 || l.used(accounts.Requests) < (left-2)*(60<<10) {
				t.Errorf("%d bytes of the address, %d of the user: %v", l.used(accounts.Unverified), l.used(accounts.Requests), err)
			}
			break
		}
	}
	c.Close()
	l.checkEmpty()
	if n := l.used(accounts.Unverified) + l.used(accounts.Requests); n != 0 {
		t.Errorf("%d bytes of a closed connection count", n)
	}
}

// Handlers begin in any order while the server receives.
func TestNothingCountsOnceAllRequestsHaveBegun(t *testing.T) {
	l := receiving(t, math.MaxInt64)
	for range 20 {
		c := l.accept("192.0.2.1:1")
		var handlers sync.WaitGroup
		for n := range 200 {
			r := httptest.NewRequest("GET", lists, nil)
			r.ProtoMajor = 2
			r.Header.Set("Authorization", strings.Repeat("x", n*137%(40<<10)))
			if err := c.receive(int(headerBytes(r))); err != nil {
				t.Fatal(err)
			}
			handlers.Go(func() {
				c.begin(r)
				defer c.end(httptest.NewRecorder(), r)
				if n%10 == 0 {
					_ = l.assign(c, "jane")
				}
			})
		}
		handlers.Wait()
		if n := l.used(accounts.Unverified) + l.used(accounts.Requests); n != 0 {
			t.Errorf("%d bytes count", n)
		}
		c.Close()
	}
	l.checkEmpty()
}

// A connection may be used for days by requests that run for days. Beside them only headers that are not complete count.
func TestNothingAddsUpBesideARunningRequest(t *testing.T) {
	l := receiving(t, math.MaxInt64)
	c := l.accept("192.0.2.1:1")
	defer c.Close()
	watch := httptest.NewRequest("GET", lists, nil)
	watch.ProtoMajor = 2
	c.begin(watch)
	receive := func(n int) {
		t.Helper()
		if err := c.receive(n); err != nil || l.used(accounts.Unverified) > ReceiveBuffer {
			t.Fatalf("%d bytes count: %v", l.used(accounts.Unverified), err)
		}
	}
	for range 10_000 { // events, and windows for them
		if _, err := c.Write(make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
		receive(70)
	}
	if err := c.receive(1 << 20); err != nil || l.used(accounts.Unverified) < 1<<20-receivedFree-receivedStep {
		t.Errorf("%d bytes count of a header that is not complete: %v", l.used(accounts.Unverified), err)
	}
	c.settle(math.MaxInt64)
	for range 100 { // refused requests, whose bodies nobody reads
		post := httptest.NewRequest("POST", lists, strings.NewReader("body"))
		post.ProtoMajor = 2
		receive(300)
		c.begin(post)
		receive(ReceiveBuffer)
		c.end(httptest.NewRecorder(), post)
	}
	const frame = 16 << 10
	post := httptest.NewRequest("POST", lists, strings.NewReader(strings.Repeat("x", 1000*frame)))
	post.ProtoMajor = 2
	c.begin(post)
	for range 1000 {
		receive(frame + frameHeader/2)
		if _, err := io.ReadFull(post.Body, make([]byte, frame)); err != nil {
			t.Fatal(err)
		}
	}
	c.end(httptest.NewRecorder(), post)
	if n := l.used(accounts.Unverified); n != 0 {
		t.Errorf("%d bytes count in the end", n)
	}
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
	c.end(httptest.NewRecorder(), r)
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
		for _, c := range []*conn{light, again} {
			c.Close()
		}
		l.checkEmpty()
	})
}

// The server receives the beginning of a body before anybody reads it.
func TestReceivedBodyCountsForTheRequest(t *testing.T) {
	r := httptest.NewRequest("POST", lists, strings.NewReader("body"))
	before := Bytes(r)
	if r.ProtoMajor = 2; Bytes(r) != before+ReceiveBuffer {
		t.Errorf("%d bytes over HTTP/2, %d over HTTP/1", Bytes(r), before)
	}
}
