package flowcontrol

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Clients of a crowd share a processor, and those that do not answer keep no others out.
func TestSluiceWorksOnAFewStrangersAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := listen(t, 10*introducing, 10)
		var all []*conn
		for range introducing {
			all = append(all, l.accept("192.0.2.1:1"))
		}
		all[1].answered.Store(true)
		request := httptest.NewRequest(http.MethodGet, "/", nil)
		for i, free := range []func(){
			func() { all[0].begin(request) },
			func() { _, _ = all[1].Read(nil) },
			func() { _, _ = all[2].Read(nil) },
			func() { _ = all[3].Close() },
		} {
			next := make(chan *conn, 1)
			go func() { next <- l.accept("192.0.2.2:1") }()
			synctest.Wait()
			if len(next) > 0 {
				t.Fatal("one more is worked on")
			}
			start := time.Now()
			go free()
			all = append(all, <-next)
			if waited, want := time.Since(start), []time.Duration{0, patience, helloPatience, 0}[i]; waited != want {
				t.Errorf("the next one is accepted after %v, want %v", waited, want)
			}
		}
		for _, c := range all {
			_ = c.Close()
		}
		if working, _ := l.listener.(*listener).connections.work.Numbers(); working != 0 {
			t.Errorf("%d places are taken", working)
		}
		l.checkEmpty()
	})
}

// Those that pause after their handshakes, and then all send at once, would be worked on at once.
func TestStrangersThatHaveStalledWaitToBeWorkedOnAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := listen(t, 10*introducing, 10)
		var all []*conn
		read := make(chan int, 2)
		for range 2 {
			c := l.accept("192.0.2.1:1")
			c.Conn.(*fakeConn).sent = make(chan struct{})
			go func() { n, _ := c.Read(nil); read <- n }()
			all = append(all, c)
		}
		time.Sleep(2 * helloPatience)
		for range introducing {
			all = append(all, l.accept("192.0.2.2:1"))
		}
		for _, c := range all[:2] {
			close(c.Conn.(*fakeConn).sent)
		}
		synctest.Wait()
		if len(read) > 0 {
			t.Fatal("more are worked on")
		}
		_ = all[2].Close()
		synctest.Wait()
		if len(read) != 1 {
			t.Errorf("%d are worked on in place of one", len(read))
		}
		for _, c := range all {
			_ = c.Close() // the other one waits
		}
		if n := <-read + <-read; n != 2 {
			t.Errorf("%d bytes were read", n)
		}
		l.checkEmpty()
	})
}

// Whoever sends a byte now and then would keep its place.
func TestStrangersThatTrickleTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := listen(t, 10*introducing, 10)
		var all []*conn
		var trickle sync.WaitGroup
		ctx, stop := context.WithTimeout(t.Context(), 10*longestWork)
		for range introducing {
			c := l.accept("192.0.2.1:1")
			c.answered.Store(true)
			c.Conn.(*fakeConn).sent = make(chan struct{})
			close(c.Conn.(*fakeConn).sent)
			trickle.Go(func() {
				for ctx.Err() == nil {
					time.Sleep(patience / 2)
					_, _ = c.Read(nil)
				}
			})
			all = append(all, c)
		}
		start := time.Now()
		all = append(all, l.accept("192.0.2.2:1"))
		if waited := time.Since(start); waited > longestWork+patience {
			t.Errorf("another one waits for %v", waited)
		}
		stop()
		for _, c := range all {
			_ = c.Close()
		}
		trickle.Wait()
		l.checkEmpty()
	})
}
