package serve

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

// watchClient is the client of one watch: the ResponseWriter of its request. It accepts everything
// unless it is stalled. The test must be in a bubble and call synctest.Wait before it looks.
type watchClient struct {
	header  http.Header
	expired chan struct{} // closed by a write deadline
	leave   context.CancelFunc
	done    chan struct{} // closed when the handler has returned

	mu      sync.Mutex // guards the fields below
	code    int
	body    bytes.Buffer
	flushes int
	stalled chan struct{} // writes wait until it is closed; nil if they do not wait
	slow    time.Duration // how long each write takes
}

var errDeadline = errors.New("write deadline")

// Header implements http.ResponseWriter.
func (c *watchClient) Header() http.Header { return c.header }

// WriteHeader implements http.ResponseWriter.
func (c *watchClient) WriteHeader(code int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.code = code
}

// Write implements http.ResponseWriter.
func (c *watchClient) Write(p []byte) (int, error) {
	if c.slow > 0 {
		select {
		case <-time.After(c.slow):
		case <-c.expired:
			return 0, errDeadline
		}
	}
	c.mu.Lock()
	stalled := c.stalled
	c.mu.Unlock()
	if stalled != nil {
		select {
		case <-stalled:
		case <-c.expired:
			return 0, errDeadline
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.body.Write(p)
}

// Flush implements http.Flusher.
func (c *watchClient) Flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flushes++
}

// SetWriteDeadline is what http.ResponseController calls.
func (c *watchClient) SetWriteDeadline(t time.Time) error {
	if t.Before(time.Now()) {
		close(c.expired)
	}
	return nil
}

// watch opens a watch.
func (e *env) watch(url string, header http.Header) *watchClient {
	r := e.request(url, header)
	ctx, cancel := context.WithCancel(r.Context())
	c := &watchClient{header: http.Header{}, expired: make(chan struct{}), leave: cancel, done: make(chan struct{})}
	e.Cleanup(func() { cancel(); <-c.done })
	go func() {
		defer close(c.done)
		e.handler.ServeHTTP(c, r.WithContext(ctx))
	}()
	synctest.Wait()
	return c
}

func (c *watchClient) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// take returns the events that have come since the last call, such as "ADDED f000001@2", "BOOKMARK@7",
// "BOOKMARK@7 end" for the end of the initial events, and "ERROR 410". The name of a Table event that
// has column definitions ends with a plus.
func (c *watchClient) take() []string {
	return decodeEvents(c.takeBytes())
}

// takeBytes returns the bytes that have come since the last call.
func (c *watchClient) takeBytes() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.body.Reset()
	return bytes.Clone(c.body.Bytes())
}

// state returns the status code and the number of flushes.
func (c *watchClient) state() (code, flushes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.code, c.flushes
}

// stall makes writes wait until resume is called.
func (c *watchClient) stall() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stalled = make(chan struct{})
}

func (c *watchClient) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.stalled)
	c.stalled = nil
}

func decodeEvents(stream []byte) (all []string) {
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
