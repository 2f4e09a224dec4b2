package proxy

import (
	"bufio"
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"sluice/test/support/proxytest"
)

var drain = drainOf(5*time.Second, 20*time.Second)

// fakeAPIServer responds to /version at once, to /slow after a time, and to nothing else.
func fakeAPIServer(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/version":
	case "/slow":
		select {
		case <-time.After(15 * time.Second):
		case <-r.Context().Done():
		}
	case "/api/v1/namespaces/a/pods/p/exec":
		conn, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = buffered.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		_ = buffered.Flush()
		_, _ = io.Copy(conn, buffered)
	default:
		<-r.Context().Done()
	}
}

func (e *env) logged(message string) bool { return e.log.FilterMessage(message).Len() > 0 }

const cutMessage = "requests cut after grace period"

func TestConnectionsAndWatchesEndAfterShutdownDelay(t *testing.T) {
	run(t, drain, fakeAPIServer, func(t *testing.T, e *env) {
		e.shutdown()
		time.Sleep(drain.Delay.Duration - time.Second)
		if code := e.get(t, "/version"); code != http.StatusOK || e.gateway.watchesEnd() {
			t.Errorf("during the delay: status %d, watches end: %v", code, e.gateway.watchesEnd())
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if code := e.get(t, "/version"); code != 0 || !e.gateway.watchesEnd() {
			t.Errorf("after the delay: status %d, watches end: %v", code, e.gateway.watchesEnd())
		}
		<-e.stopped
	})
}

func TestRequestsAreCutAfterGraceAndLeftIfTheyIgnoreIt(t *testing.T) {
	for ignored, want := range map[bool]time.Duration{
		false: drain.Delay.Duration + drain.Grace.Duration, true: drain.Delay.Duration + drain.Grace.Duration + cutTimeout,
	} {
		run(t, drain, fakeAPIServer, func(t *testing.T, e *env) {
			release := make(chan struct{})
			if ignored {
				e.gateway.handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release })
			}
			done := make(chan int)
			go func() { done <- e.get(t, "/never") }()
			synctest.Wait()
			e.shutdown()
			<-e.stopped
			if e.took != want || !e.logged(cutMessage) {
				t.Errorf("ignored %v: shutdown took %v, want %v; %s was logged: %v", ignored, e.took, want, cutMessage, e.logged(cutMessage))
			}
			close(release)
			<-done
		})
	}
}

func TestUpgradedConnectionsAreClosedAfterGrace(t *testing.T) {
	run(t, drain, fakeAPIServer, func(t *testing.T, e *env) {
		conn := e.dialTLS(t, "http/1.1")
		defer conn.Close()
		if _, err := io.WriteString(conn, "GET /api/v1/namespaces/a/pods/p/exec HTTP/1.1\r\nHost: sluice\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		buffered := bufio.NewReader(conn)
		resp, err := http.ReadResponse(buffered, nil)
		if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
			t.Fatalf("%v, %v", resp, err)
		}
		e.shutdown()
		time.Sleep(drain.Delay.Duration + drain.Grace.Duration - time.Second)
		if _, err := io.WriteString(conn, "still open\n"); err != nil {
			t.Fatal(err)
		}
		if line, err := buffered.ReadString('\n'); err != nil || line != "still open\n" {
			t.Errorf("during the grace period: %q, %v", line, err)
		}
		if _, err := buffered.ReadByte(); err == nil {
			t.Error("more data than the echo")
		}
		<-e.stopped
		if e.took != drain.Delay.Duration+drain.Grace.Duration || !e.logged(cutMessage) {
			t.Errorf("shutdown took %v", e.took)
		}
	})
}

// dialTLS connects to the Gateway with one protocol.
func (e *env) dialTLS(t *testing.T, protocol string) *tls.Conn {
	t.Helper()
	raw, err := e.listener.Dial(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	config := e.tls.Clone()
	config.NextProtos = []string{protocol}
	conn := tls.Client(raw, config)
	if err := conn.HandshakeContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	return conn
}

func TestShutdownSendsGoAwayAndFinishesOpenStreams(t *testing.T) {
	run(t, drain, fakeAPIServer, func(t *testing.T, e *env) {
		c := e.dialHTTP2(t)
		if err := c.get(1, c.encode("/slow")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		e.shutdown()
		end := c.read(1)
		if !end.goAway {
			t.Errorf("the first that is sent: %+v", end)
		}
		for end.goAway && end.code == http2.ErrCodeNo {
			end = c.read(1)
		}
		if end.status != "200" {
			t.Errorf("the open stream: %+v", end)
		}
		for c.read(0).err == nil { // the server writes to its end
		}
		<-e.stopped
	})
}

// There may be no other gateway: while requests finish, others are served on new connections.
func TestRequestsAreServedWhileOthersFinish(t *testing.T) {
	run(t, drain, fakeAPIServer, func(t *testing.T, e *env) {
		code := make(chan int, 1)
		go func() { code <- e.get(t, "/slow") }()
		synctest.Wait()
		e.shutdown()
		time.Sleep(drain.Delay.Duration + 5*time.Second)
		if got := e.get(t, "/version"); got != http.StatusOK {
			t.Errorf("status %d", got)
		}
		<-e.stopped
		if got := <-code; got != http.StatusOK || e.took >= drain.Delay.Duration+drain.Grace.Duration || e.logged(cutMessage) {
			t.Errorf("status %d of the request that was running; the shutdown took %v, and has cut: %v", got, e.took, e.logged(cutMessage))
		}
	})
}

const watchPath = "/api/v1/events?watch=1&resourceVersion=5"

// fakeWatch is an apiserver that sends one event, and then nothing.
func fakeWatch(w http.ResponseWriter, r *http.Request) {
	if !strings.HasPrefix(r.URL.Path, "/api/v1/events") {
		fakeAPIServer(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, "{}\n")
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

// A gateway that has only watches must be gone, and its successor there, before leases expire.
func TestPassedWatchesEndInOrderAtTheBeginningOfTheGrace(t *testing.T) {
	run(t, drainOf(0, 20*time.Second), fakeWatch, func(t *testing.T, e *env) {
		type result struct {
			body string
			err  error
		}
		results := make(chan result)
		const watches = 10
		for range watches {
			go func() {
				resp, err := e.client.Get("https://sluice" + watchPath)
				if err != nil {
					results <- result{"", err}
					return
				}
				defer resp.Body.Close()
				body, err := io.ReadAll(resp.Body)
				results <- result{string(body), err}
			}()
		}
		time.Sleep(time.Minute)
		e.shutdown()
		for range watches {
			if r := <-results; r.err != nil || r.body != "{}\n" {
				t.Errorf("the watch ends with %q, %v", r.body, r.err)
			}
		}
		<-e.stopped
		if e.took > time.Second {
			t.Errorf("shutdown took %v", e.took)
		}
	})
}

func TestWatchesAreRefusedOnceTheyHaveToEnd(t *testing.T) {
	run(t, drainOf(0, 20*time.Second), fakeWatch, func(t *testing.T, e *env) {
		code := make(chan int, 1)
		go func() { code <- e.get(t, "/slow") }()
		go func() {
			resp, err := e.client.Get("https://sluice" + watchPath)
			if err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		}()
		synctest.Wait()
		e.shutdown()
		<-e.gateway.draining // at the end of the slow request, a moment before the watch ends
		if got := e.get(t, watchPath); got != http.StatusServiceUnavailable {
			t.Errorf("status %d", got)
		}
		if got := e.get(t, "/version"); got != http.StatusOK {
			t.Errorf("status %d of a request that is no watch", got)
		}
		<-e.stopped
		if got := <-code; got != http.StatusOK {
			t.Errorf("status %d of the slow request", got)
		}
	})
}

// http.Server.Shutdown waits a second for HTTP/2 connections, although they are idle, and five for the first request of one.
func TestConnectionsWithoutRequestsDoNotHoldUpTheShutdown(t *testing.T) {
	for name, most := range map[string]time.Duration{"idle": 3 * idleFor, "unused": 2 * time.Second} {
		run(t, drainOf(0, 20*time.Second), fakeAPIServer, func(t *testing.T, e *env) {
			if name == "idle" {
				resp, err := e.client.Get("https://sluice/version") // which keeps its connection
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
			} else {
				defer e.dialTLS(t, "http/1.1").Close()
			}
			synctest.Wait()
			e.shutdown()
			<-e.stopped
			if e.took > most {
				t.Errorf("%s: shutdown took %v", name, e.took)
			}
		})
	}
}

func TestServeFailsWithItsListener(t *testing.T) {
	run(t, drain, fakeAPIServer, func(t *testing.T, e *env) {
		closed := proxytest.NewListener()
		_ = closed.Close()
		if err := New(e.gateway.options).Serve(t.Context(), closed, e.tls); err == nil {
			t.Error("no error")
		}
	})
}
