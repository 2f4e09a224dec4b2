package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"testing/synctest"
	"time"
)

// watchClient is the client of one watch: the ResponseWriter of its request. It accepts everything
// unless it is stalled. The test must be in a bubble and call synctest.Wait before it looks.
type watchClient struct {
	header  http.Header
	code    int
	body    bytes.Buffer
	flushes int
	stalled chan struct{} // writes wait until it is closed; nil if they do not wait
	expired chan struct{} // closed by a write deadline
	leave   context.CancelFunc
	done    chan struct{} // closed when the handler has returned
}

var errDeadline = errors.New("write deadline")

// Header implements http.ResponseWriter.
func (c *watchClient) Header() http.Header { return c.header }

// WriteHeader implements http.ResponseWriter.
func (c *watchClient) WriteHeader(code int) { c.code = code }

// Write implements http.ResponseWriter.
func (c *watchClient) Write(p []byte) (int, error) {
	if c.stalled != nil {
		select {
		case <-c.stalled:
		case <-c.expired:
			return 0, errDeadline
		}
	}
	return c.body.Write(p)
}

// Flush implements http.Flusher.
func (c *watchClient) Flush() { c.flushes++ }

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
	defer c.body.Reset()
	return decodeEvents(c.body.Bytes())
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
