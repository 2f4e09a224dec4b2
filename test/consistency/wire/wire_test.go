package wire

import (
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"sluice/test/harness"
)

// echo starts a server that returns what it receives, and returns its address.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { defer c.Close(); io.Copy(c, c) }()
		}
	}()
	return l.Addr().String()
}

func link(t *testing.T) *Link {
	t.Helper()
	l, _ := StartLink(t, &rest.Config{Host: echo(t)})
	return l
}

func dial(t *testing.T, l *Link) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", l.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// roundTrip sends a word and reads it back.
func roundTrip(c net.Conn, word string) error {
	if _, err := io.WriteString(c, word); err != nil {
		return err
	}
	back := make([]byte, len(word))
	if _, err := io.ReadFull(c, back); err != nil {
		return err
	}
	if string(back) != word {
		return fmt.Errorf("%q came back as %q", word, back)
	}
	return nil
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestCutResetsAShareOfTheConnections(t *testing.T) {
	l := link(t)
	one, two := dial(t, l), dial(t, l)
	must(t, roundTrip(one, "hello"))
	must(t, roundTrip(two, "hello"))
	l.Cut(0)
	awaitOpen(t, l, 1)
	if lost := failures(one, two); lost != 1 {
		t.Errorf("%d connections are lost, want 1", lost)
	}
	l.Cut(1)
	awaitOpen(t, l, 0)
	if lost := failures(one, two); lost != 2 {
		t.Errorf("%d connections are lost, want 2", lost)
	}
	must(t, roundTrip(dial(t, l), "again"))
}

// awaitOpen waits until a link has n connections: one that is cut may forward a byte until it notices.
func awaitOpen(t *testing.T, l *Link, n int) {
	t.Helper()
	harness.Eventually(t, "connections are cut", func() error {
		l.mu.Lock()
		defer l.mu.Unlock()
		if len(l.conns) != n {
			return fmt.Errorf("%d are open, want %d", len(l.conns), n)
		}
		return nil
	})
}

// failures returns the number of connections that fail.
func failures(conns ...net.Conn) int {
	n := 0
	for _, c := range conns {
		if roundTrip(c, "x") != nil {
			n++
		}
	}
	return n
}

func TestRefuseResetsNewConnections(t *testing.T) {
	l := link(t)
	l.Refuse(true)
	// The connection may fail at once or when it is used.
	if c, err := net.Dial("tcp", l.listener.Addr().String()); err == nil {
		defer c.Close()
		if roundTrip(c, "hello") == nil {
			t.Error("the connection is not refused")
		}
	}
	l.Restore()
	must(t, roundTrip(dial(t, l), "hello"))
}

func TestStallHoldsBytesUntilRestore(t *testing.T) {
	l := link(t)
	c := dial(t, l)
	must(t, roundTrip(c, "hello"))
	l.Stall(true)
	done := make(chan error)
	go func() { done <- roundTrip(c, "world") }()
	select {
	case err := <-done:
		t.Fatalf("the round trip ended during the stall: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	l.Restore()
	must(t, <-done)
}

func TestLagDelaysWatchesOnly(t *testing.T) {
	end := make(chan struct{})
	origin := Serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.URL.RequestURI())
		if IsWatch(r) {
			http.NewResponseController(w).Flush()
			<-end
		}
	}))
	defer origin.Close()
	defer close(end)
	lag := &Lag{}
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: origin.Certificate().Raw})
	server, _ := lag.Front(t, &rest.Config{Host: origin.URL, TLSClientConfig: rest.TLSClientConfig{CAData: ca}})
	lag.Set(time.Hour, time.Hour)
	watch, err := server.Client().Get(server.URL + "/things?watch=1")
	must(t, err)
	defer watch.Body.Close()
	read := make(chan string)
	go func() {
		p := make([]byte, 100)
		n, _ := watch.Body.Read(p)
		read <- string(p[:n])
	}()
	list, err := server.Client().Get(server.URL + "/things?limit=1")
	must(t, err)
	defer list.Body.Close()
	text, err := io.ReadAll(list.Body)
	must(t, err)
	if string(text) != "/things?limit=1" {
		t.Errorf("list is %q", text)
	}
	select {
	case text := <-read:
		t.Errorf("the watch was not delayed: %q", text)
	case <-time.After(50 * time.Millisecond):
	}
}
