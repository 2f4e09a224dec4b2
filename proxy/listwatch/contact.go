package listwatch

import (
	"context"
	"net"
	"net/http/httptrace"
	"sync"
	"time"
)

// atOnce is how soon a watch must follow another, or a list, to be of the same history without an inventory.
const atOnce = time.Second

// contact is the last moment at which the apiserver was known to serve the history of the store, and the
// connection to it. The zero value is none.
//
// etcd is restored from a backup while every apiserver is stopped, so a history ends with the processes that serve
// it, and with their connections. A watch is therefore of the same history as one before it if both were open on
// the same connection. Behind a proxy the connection is that to the proxy, and lasts longer than an apiserver. So
// the watch before must also have ended in order when its own timeout was due, which its apiserver has done, and
// the next one must have been accepted within atOnce: no apiserver stops, and another one starts on other data,
// within that. A watch that was cut, refused at first, or ended at another time takes an inventory.
type contact struct {
	conn net.Conn
	at   time.Time
}

// reaches reports whether a response that began at a time on a connection is of the same history.
func (c contact) reaches(conn net.Conn, at time.Time) bool {
	return c.conn != nil && c.conn == conn && at.Sub(c.at) <= atOnce
}

// traced returns a context for requests, and a function that returns their connection; nil if there were several.
func traced(ctx context.Context) (context.Context, func() net.Conn) {
	var mu sync.Mutex
	conns := map[net.Conn]bool{}
	trace := &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) {
		mu.Lock()
		defer mu.Unlock()
		conns[i.Conn] = true
	}}
	return httptrace.WithClientTrace(ctx, trace), func() net.Conn {
		mu.Lock()
		defer mu.Unlock()
		for conn := range conns {
			if len(conns) == 1 {
				return conn
			}
		}
		return nil
	}
}
