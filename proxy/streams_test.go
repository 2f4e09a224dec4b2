package proxy

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"sluice/proxy/accounts"
	"sluice/proxy/connections"
	"sluice/proxy/flowcontrol"
	"sluice/proxy/request"
)

// A handler begins when another one ends, or a processor is free for it. What it will need is there already.
func TestHeadersOfRequestsThatHaveNotBegunCount(t *testing.T) {
	run(t, drain, fakeAPIServer, func(t *testing.T, e *env) {
		block, limit := make(chan struct{}), e.gateway.options.Config.Limits.StreamsPerConnection
		e.gateway.handler = connections.WithConnection(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-block }))
		used := func() int64 {
			synctest.Wait()
			return e.gateway.options.Accounts.Usage(accounts.Unverified).Used
		}
		c := e.dialHTTP2(t)
		defer c.conn.Close()
		go c.read(0)
		open := func(stream int, fields ...hpack.HeaderField) {
			block := c.encode("/version", fields...)
			first := block[:min(len(block), 16<<10)]
			err := c.WriteHeaders(http2.HeadersFrameParam{
				StreamID: uint32(stream), BlockFragment: first, EndHeaders: len(first) == len(block), EndStream: true,
			})
			for rest := block[len(first):]; err == nil && len(rest) > 0; {
				n := min(len(rest), 16<<10)
				err = c.WriteContinuation(uint32(stream), n == len(rest), rest[:n])
				rest = rest[n:]
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		stream := 1
		for range limit { // the most that run at a time
			open(stream)
			if err := c.WriteRSTStream(uint32(stream), http2.ErrCodeCancel); err != nil {
				t.Fatal(err)
			}
			stream += 2
		}
		token := hpack.HeaderField{Name: "authorization", Value: strings.Repeat("~", 40<<10), Sensitive: true}
		for range limit {
			open(stream, token)
			stream += 2
		}
		if n := used(); n < int64(limit)*(40<<10)*9/10 {
			t.Errorf("%d bytes count for %d headers of 40 KiB", n, limit)
		}
		close(block)
		if n := used(); n != 0 {
			t.Errorf("%d bytes count after the requests", n)
		}
	})
}

// net/http answers a header that is too long or has invalid fields itself, without a handler. A client that does not accept
// the answer holds the header.
func TestStreamsThatTheServerAnswersItselfCount(t *testing.T) {
	const streams, unusual = 100, 2000
	many := make([]hpack.HeaderField, unusual)
	for i := range many {
		many[i] = hpack.HeaderField{Name: "x", Value: "x"}
	}
	invalid := append([]hpack.HeaderField{{Name: "connection", Value: "close"}}, many[:unusual/2]...)
	for name, tt := range map[string]struct {
		fields []hpack.HeaderField
		price  int64
		user   bool
	}{
		"too long": {many, 110 << 10, false}, "invalid": {invalid, 55 << 10, false}, "of a user": {many, 110 << 10, true},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, drain, fakeAPIServer, func(t *testing.T, e *env) {
				ledger := e.gateway.options.Accounts
				resource := accounts.Unverified
				used := func() int64 {
					synctest.Wait()
					return ledger.Usage(resource).Used
				}
				if tt.user {
					resource = accounts.Requests
					control := flowcontrol.New(ledger).WithFlowControl(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
					e.gateway.handler = connections.WithConnection(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						control.ServeHTTP(w, r.WithContext(request.With(r.Context(), &request.Info{Identity: request.Identity{Caller: request.BearerToken, User: "jane"}})))
					}))
				}
				attack := func(limited bool) *rawHTTP2 {
					c := e.dialHTTP2(t, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
					if err := c.get(1, c.encode("/version")); err != nil {
						t.Fatal(err)
					}
					go c.read(0)
					for i := range uint32(streams - 1) {
						if err := c.get(2*i+3, c.encode("/version", tt.fields...)); err != nil && !limited {
							t.Fatal(err)
						}
					}
					return c
				}
				c := attack(false)
				if n := used(); n < (streams-1)*tt.price || n > 2*streams*tt.price {
					t.Errorf("%d bytes count", n)
				}
				for i := range uint32(streams) {
					if err := c.WriteRSTStream(2*i+1, http2.ErrCodeCancel); err != nil {
						t.Fatal(err)
					}
				}
				if n := used(); n != 0 {
					t.Errorf("%d bytes count after all were reset", n)
				}
				_ = c.conn.Close()
				totals := accounts.Totals{accounts.Strangers: 10, accounts.Connections: 10}
				totals[resource] = 10 * tt.price
				ledger.SetTotals(totals)
				c = attack(true)
				if n := used(); n != 0 {
					t.Errorf("%d bytes count of a connection that must have closed", n)
				}
				_ = c.conn.Close()
			})
		})
	}
}
