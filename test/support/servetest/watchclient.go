package servetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing/synctest"
	"time"
)

// WatchClient is the client of one watch: the ResponseWriter of its request. It accepts everything
// unless it is stalled. The test must be in a bubble and call synctest.Wait before it looks.
type WatchClient struct {
	header  http.Header
	Expired chan struct{} // closed by a write deadline
	Leave   context.CancelFunc
	Done    chan struct{} // closed when the handler has returned
	Request *http.Request

	mu      sync.Mutex // guards the fields below
	Code    int
	body    bytes.Buffer
	flushes int
	Stalled chan struct{} // writes wait until it is closed; nil if they do not wait
	Slow    time.Duration // how long each write takes
}

var ErrDeadline = errors.New("write deadline")

// Header implements http.ResponseWriter.
func (c *WatchClient) Header() http.Header {
	if c.header == nil {
		c.header = http.Header{}
	}
	return c.header
}

// WriteHeader implements http.ResponseWriter.
func (c *WatchClient) WriteHeader(code int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Code = code
}

// Write implements http.ResponseWriter.
func (c *WatchClient) Write(p []byte) (int, error) {
	if c.Slow > 0 {
		select {
		case <-time.After(c.Slow):
		case <-c.Expired:
			return 0, ErrDeadline
		}
	}
	c.mu.Lock()
	stalled := c.Stalled
	c.mu.Unlock()
	if stalled != nil {
		select {
		case <-stalled:
		case <-c.Expired:
			return 0, ErrDeadline
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.body.Write(p)
}

// Flush implements http.Flusher.
func (c *WatchClient) Flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flushes++
}

// SetWriteDeadline is what http.ResponseController calls.
func (c *WatchClient) SetWriteDeadline(t time.Time) error {
	if t.Before(time.Now()) {
		close(c.Expired)
	}
	return nil
}

// Watch opens a watch.
func (e *Env) Watch(url string, header http.Header) *WatchClient {
	r := e.Request(url, header)
	ctx, cancel := context.WithCancel(r.Context())
	r = r.WithContext(ctx)
	c := &WatchClient{Expired: make(chan struct{}), Leave: cancel, Done: make(chan struct{}), Request: r}
	e.Cleanup(func() { cancel(); <-c.Done })
	go func() {
		defer close(c.Done)
		e.Handler.ServeHTTP(c, r)
	}()
	synctest.Wait()
	return c
}

func (c *WatchClient) Ended() bool {
	select {
	case <-c.Done:
		return true
	default:
		return false
	}
}

// Take returns the events that have come since the last call, such as "ADDED f000001@2", "BOOKMARK@7",
// "BOOKMARK@7 end" for the end of the initial events, and "ERROR 410". The name of a Table event that
// has column definitions ends with a plus.
func (c *WatchClient) Take() []string {
	return DecodeEvents(c.TakeBytes())
}

// TakeBytes returns the bytes that have come since the last call.
func (c *WatchClient) TakeBytes() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.body.Reset()
	return bytes.Clone(c.body.Bytes())
}

// State returns the status code and the number of flushes.
func (c *WatchClient) State() (code, flushes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Code, c.flushes
}

// Stall makes writes wait until resume is called.
func (c *WatchClient) Stall() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Stalled = make(chan struct{})
}

func (c *WatchClient) Resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.Stalled)
	c.Stalled = nil
}

func DecodeEvents(stream []byte) (all []string) {
	type object struct {
		Metadata struct {
			Name, ResourceVersion string
			Annotations           map[string]string
		}
	}
	for d := json.NewDecoder(bytes.NewReader(stream)); d.More(); {
		var event struct {
			Type   string
			Object struct {
				object
				Code              int
				ColumnDefinitions []any
				Rows              []struct{ Object object }
			}
		}
		if err := d.Decode(&event); err != nil {
			return append(all, err.Error())
		}
		m := event.Object.Metadata
		if len(event.Object.Rows) > 0 {
			m = event.Object.Rows[0].Object.Metadata
		}
		text := event.Type
		switch {
		case event.Type == "ERROR":
			text += fmt.Sprint(" ", event.Object.Code)
		case event.Type == "BOOKMARK":
			text += "@" + m.ResourceVersion
			if m.Annotations["k8s.io/initial-events-end"] == "true" {
				text += " end"
			}
		default:
			text += " " + m.Name + "@" + m.ResourceVersion
		}
		if len(event.Object.ColumnDefinitions) > 0 {
			text += "+"
		}
		all = append(all, text)
	}
	return all
}
