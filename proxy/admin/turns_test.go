package admin

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"sluice/proxy/queue"
)

func from(address, method, target string, body io.Reader) *http.Request {
	r := httptest.NewRequest(method, target, body)
	r.Host, r.RemoteAddr = "127.0.0.1:9443", address+":1000"
	return r
}

func TestARequestWaitsForOneOfEachOtherAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := make(chan struct{})
		var order []string // the queue has one place
		h := turns{queue.New(1)}.handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			<-next
			order = append(order, r.RemoteAddr)
		}))
		var all sync.WaitGroup
		for _, address := range append(slices.Repeat([]string{"192.0.2.1"}, 10), "192.0.2.2", "192.0.2.3") {
			all.Go(func() { h.ServeHTTP(httptest.NewRecorder(), from(address, http.MethodGet, "/metrics", nil)) })
			synctest.Wait()
		}
		for range 12 {
			next <- struct{}{}
		}
		all.Wait()
		if at := slices.Index(order, "192.0.2.3:1000"); at > 3 {
			t.Errorf("%d requests of two other addresses came before: %v", at, order)
		}
	})
}

// blocked is a client that does not read.
type blocked struct {
	http.ResponseWriter
	until <-chan struct{}
}

func (b blocked) Write(p []byte) (int, error) {
	<-b.until
	return b.ResponseWriter.Write(p)
}

func TestNoTurnWaitsForAClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		h := turns{queue.New(1)}.handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			fmt.Fprintf(w, "%s %s", r.URL.Path, body)
			if r.URL.Path == "/stream" {
				_ = http.NewResponseController(w).Flush()
				<-end
				fmt.Fprint(w, " goes on")
			}
		}))
		var all sync.WaitGroup
		slow, client := io.Pipe()
		stream, question := httptest.NewRecorder(), httptest.NewRecorder()
		all.Go(func() { h.ServeHTTP(stream, from("192.0.2.1", http.MethodGet, "/stream", nil)) })
		all.Go(func() { h.ServeHTTP(question, from("192.0.2.1", http.MethodPost, "/sends-slowly", slow)) })
		all.Go(func() {
			h.ServeHTTP(blocked{httptest.NewRecorder(), end}, from("192.0.2.1", http.MethodGet, "/reads-nothing", nil))
		})
		synctest.Wait()
		if !stream.Flushed || stream.Body.String() != "/stream " {
			t.Errorf("a stream has sent %q", stream.Body)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, from("192.0.2.2", http.MethodGet, "/metrics", nil)) // else the bubble deadlocks
		if w.Body.String() != "/metrics " {
			t.Errorf("got %q", w.Body)
		}
		close(end)
		_, _ = io.WriteString(client, "question")
		client.Close()
		all.Wait()
		if stream.Body.String() != "/stream  goes on" || question.Body.String() != "/sends-slowly question" {
			t.Errorf("got %q and %q", stream.Body, question.Body)
		}
	})
}

func TestARequestThatHasEndedTakesNoTurn(t *testing.T) {
	q := queue.New(1)
	h := turns{q}.handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("served") }))
	first := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	busy := turns{q}.handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, first.WithContext(ctx))
		if w.Code != http.StatusServiceUnavailable {
			t.Error(w.Code)
		}
	}))
	busy.ServeHTTP(httptest.NewRecorder(), first)
	if running, waiting := q.Numbers(); running != 0 || waiting != 0 {
		t.Errorf("%d run, %d wait", running, waiting)
	}
}
