package proxy

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// rawHTTP2 is an HTTP/2 connection of a client that does as it likes.
type rawHTTP2 struct {
	*http2.Framer
	conn   *tls.Conn
	header bytes.Buffer
	hpack  *hpack.Encoder
}

// dialHTTP2 connects and exchanges settings.
func (e *env) dialHTTP2(t *testing.T, settings ...http2.Setting) *rawHTTP2 {
	t.Helper()
	c := &rawHTTP2{conn: e.dialTLS(t, "h2")}
	c.hpack = hpack.NewEncoder(&c.header)
	t.Cleanup(func() { _ = c.conn.Close() })
	c.Framer = http2.NewFramer(c.conn, c.conn)
	c.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	if _, err := io.WriteString(c.conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	if err := c.WriteSettings(settings...); err != nil {
		t.Fatal(err)
	}
	for received := 0; received < 2; { // the server's settings and its acknowledgement
		frame, err := c.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		if f, ok := frame.(*http2.SettingsFrame); ok {
			received++
			if !f.IsAck() {
				_ = c.WriteSettingsAck()
			}
		}
	}
	return c
}

// encode returns a header block.
func (c *rawHTTP2) encode(path string, fields ...hpack.HeaderField) []byte {
	c.header.Reset()
	for _, f := range append([]hpack.HeaderField{
		{Name: ":method", Value: "GET"}, {Name: ":scheme", Value: "https"}, {Name: ":authority", Value: "sluice"}, {Name: ":path", Value: path},
	}, fields...) {
		_ = c.hpack.WriteField(f)
	}
	return bytes.Clone(c.header.Bytes())
}

// get opens a stream.
func (c *rawHTTP2) get(stream uint32, block []byte) error {
	return c.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block, EndHeaders: true, EndStream: true})
}

// ended is how a connection or stream ended.
type ended struct {
	status string        // of the response to the stream
	code   http2.ErrCode // of GOAWAY, if goAway is set, or of the reset of the stream
	goAway bool
	err    error // of the connection
}

// read answers pings until a response to the stream, GOAWAY, or the end of the connection.
func (c *rawHTTP2) read(stream uint32) ended {
	for {
		frame, err := c.ReadFrame()
		switch f := frame.(type) {
		case nil:
			return ended{err: err}
		case *http2.PingFrame:
			_ = c.WritePing(true, f.Data)
		case *http2.MetaHeadersFrame:
			if f.StreamID == stream {
				return ended{status: f.PseudoValue("status")}
			}
		case *http2.RSTStreamFrame:
			if f.StreamID == stream {
				return ended{code: f.ErrCode}
			}
		case *http2.GoAwayFrame:
			return ended{goAway: true, code: f.ErrCode}
		}
	}
}

// CVE-2023-44487, rapid reset: streams that are reset at once must not run more requests at a time than
// the limit of streams allows.
func TestRapidResetEndsTheConnection(t *testing.T) {
	run(t, drain, fakeAPIServer, func(t *testing.T, e *env) {
		var running, most atomic.Int64
		block := make(chan struct{})
		e.gateway.handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			if n := running.Add(1); n > most.Load() {
				most.Store(n)
			}
			<-block // as handlers that do not notice at once
			running.Add(-1)
		})
		defer close(block)
		c := e.dialHTTP2(t)
		done := make(chan ended, 1)
		go func() { done <- c.read(0) }()
		for stream := uint32(1); stream < 20_001; stream += 2 {
			if c.get(stream, c.encode("/version")) != nil || c.WriteRSTStream(stream, http2.ErrCodeCancel) != nil {
				break // the server has closed the connection
			}
		}
		if end := <-done; !end.goAway && end.err == nil {
			t.Errorf("ended with %+v", end)
		}
		if limit := int64(e.gateway.options.Config.Limits.StreamsPerConnection); most.Load() > limit {
			t.Errorf("%d requests ran at a time, more than %d", most.Load(), limit)
		}
	})
}

// CVE-2023-45288, CONTINUATION flood: a header that never ends must end the connection.
func TestContinuationFloodEndsTheConnection(t *testing.T) {
	run(t, drain, fakeAPIServer, func(t *testing.T, e *env) {
		c := e.dialHTTP2(t)
		done := make(chan ended, 1)
		go func() { done <- c.read(0) }()
		block := c.encode("/version")
		if err := c.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block, EndStream: true}); err != nil {
			t.Fatal(err)
		}
		sent, limit := 0, 4*int(e.gateway.options.Config.Limits.HeaderBytes)
		for i := 0; sent < 10*limit; i++ {
			c.header.Reset()
			_ = c.hpack.WriteField(hpack.HeaderField{Name: fmt.Sprintf("x-%d", i), Value: strings.Repeat("x", 8<<10), Sensitive: true})
			if c.WriteContinuation(1, false, c.header.Bytes()) != nil {
				break
			}
			sent += c.header.Len()
		}
		if end := <-done; !end.goAway && end.err == nil {
			t.Errorf("ended with %+v", end)
		}
		if sent > limit {
			t.Errorf("the server read %d bytes of a header", sent)
		}
	})
}

// The server makes room for a whole frame as soon as it has its header of nine bytes.
func TestLongFrameEndsTheConnection(t *testing.T) {
	run(t, drain, fakeAPIServer, func(t *testing.T, e *env) {
		c := e.dialHTTP2(t)
		const length, data = 1 << 19, 0
		if _, err := c.conn.Write([]byte{length >> 16, length >> 8 & 0xff, length & 0xff, data, 0, 0, 0, 0, 1}); err != nil {
			t.Fatal(err)
		}
		if end := c.read(0); !end.goAway || end.code != http2.ErrCodeFrameSize {
			t.Errorf("ended with %+v", end)
		}
	})
}

// A table of the headers that were sent would be kept for each connection.
func TestResponseHeadersReferToNoOthers(t *testing.T) {
	run(t, drain, fakeAPIServer, func(t *testing.T, e *env) {
		c := e.dialHTTP2(t)
		c.ReadMetaHeaders = nil
		for _, stream := range []uint32{1, 3} {
			if err := c.get(stream, c.encode("/version")); err != nil {
				t.Fatal(err)
			}
			for headers := false; !headers; {
				frame, err := c.ReadFrame()
				if err != nil {
					t.Fatal(err)
				}
				f, ok := frame.(*http2.HeadersFrame)
				if headers = ok; !ok {
					continue
				}
				fields, err := hpack.NewDecoder(4096, nil).DecodeFull(f.HeaderBlockFragment())
				if err != nil || len(fields) < 2 {
					t.Errorf("stream %d: %v, %v", stream, fields, err)
				}
			}
		}
	})
}

// CVE-2016-6581, HPACK bomb: a field of 3 KB that is referred to by one byte must count at each
// reference. 400 bytes must not become 900 KB.
func TestHeaderThatExpandsIsRefused(t *testing.T) {
	var forwarded atomic.Int64
	apiserver := func(w http.ResponseWriter, r *http.Request) { forwarded.Add(1) }
	run(t, drain, apiserver, func(t *testing.T, e *env) {
		c := e.dialHTTP2(t)
		bomb := hpack.HeaderField{Name: "x", Value: strings.Repeat("x", 3000)}
		if err := c.get(1, c.encode("/version", bomb)); err != nil {
			t.Fatal(err)
		}
		if end := c.read(1); end.status != "200" {
			t.Fatalf("one field: %+v", end)
		}
		fields := make([]hpack.HeaderField, 300)
		for i := range fields {
			fields[i] = bomb
		}
		block := c.encode("/version", fields...)
		if len(block) > 400 {
			t.Fatalf("the header has %d bytes", len(block))
		}
		if err := c.get(3, block); err != nil {
			t.Fatal(err)
		}
		if end := c.read(3); end.status != "431" || forwarded.Load() != 1 {
			t.Errorf("%+v, %d requests were forwarded", end, forwarded.Load())
		}
		if err := c.get(5, c.encode("/version")); err != nil {
			t.Fatal(err)
		}
		if end := c.read(5); end.status != "200" {
			t.Errorf("the connection is not usable after it: %+v", end)
		}
	})
}

// A header within the limit of bytes but with many fields is refused, by HTTP/1.1 and HTTP/2 alike.
func TestHeaderWithTooManyFieldsIsRefused(t *testing.T) {
	run(t, drain, fakeAPIServer, func(t *testing.T, e *env) {
		for _, http2 := range []bool{false, true} {
			for _, tt := range []struct {
				fields, code int
				kind         string
			}{
				{100, http.StatusOK, ""},
				{600, http.StatusRequestHeaderFieldsTooLarge, `"kind":"Status"`},
			} {
				transport := e.transport(http2)
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://sluice/version", nil)
				if err != nil {
					t.Fatal(err)
				}
				for range tt.fields {
					req.Header.Add("X-Field", "x")
				}
				resp, err := transport.RoundTrip(req)
				if err != nil {
					t.Fatalf("HTTP/2 %v, %d fields: %v", http2, tt.fields, err)
				}
				body, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if resp.StatusCode != tt.code || !strings.Contains(string(body), tt.kind) || err != nil {
					t.Errorf("HTTP/2 %v, %d fields: %d %s", http2, tt.fields, resp.StatusCode, body)
				}
				transport.CloseIdleConnections()
			}
		}
	})
}

// net/http reads the rest of a body before it sends the response, unless it finds its own body in its request. A client that
// waits for 100 Continue, or for nothing, would wait for ever.
func TestRefusalDoesNotWaitForTheBody(t *testing.T) {
	for _, expect := range []string{"", "Expect: 100-continue\r\n"} {
		run(t, drain, fakeAPIServer, func(t *testing.T, e *env) {
			c := e.dialTLS(t, "http/1.1")
			defer c.Close()
			fields := strings.Repeat("X-Field: x\r\n", 600) + expect
			go fmt.Fprintf(c, "POST /api/v1/namespaces/a/pods HTTP/1.1\r\nHost: sluice\r\nContent-Length: 1000000\r\n%s\r\n", fields)
			sent := time.Now()
			_ = c.SetReadDeadline(sent.Add(time.Minute))
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				t.Fatalf("%q: %v", expect, err)
			}
			if after := time.Since(sent); resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge || after > 0 {
				t.Errorf("%q: %d after %v", expect, resp.StatusCode, after)
			}
		})
	}
}

// CVE-2019-9517, window zero: a client that reads nothing leaves places to others.
func TestClientThatReadsNothingHoldsNoOtherPlaces(t *testing.T) {
	apiserver := func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(make([]byte, 1<<20)) }
	run(t, drain, apiserver, func(t *testing.T, e *env) {
		c := e.dialHTTP2(t, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
		for stream := uint32(1); stream < 40; stream += 2 {
			if err := c.get(stream, c.encode("/version")); err != nil {
				t.Fatal(err)
			}
			if end := c.read(stream); end.status != "200" {
				t.Fatalf("%+v", end)
			}
		}
		if code := e.get(t, "/version"); code != http.StatusOK {
			t.Errorf("another client: %d", code)
		}
		_ = c.conn.Close()
	})
}

// The memory of such requests is not counted.
func TestRefusalsThatNobodyReadsEndWithinSeconds(t *testing.T) {
	run(t, drain, fakeAPIServer, func(t *testing.T, e *env) {
		c := e.dialHTTP2(t, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
		if err := c.get(1, c.encode("/api/../v1")); err != nil {
			t.Fatal(err)
		}
		if end := c.read(1); end.status != "400" {
			t.Fatalf("%+v", end)
		}
		sent := time.Now()
		if end := c.read(1); end.code == http2.ErrCodeNo || time.Since(sent) > unauthenticatedEnd {
			t.Errorf("after %v: %+v", time.Since(sent), end)
		}
		_ = c.conn.Close()
	})
}

// The end of a response is sent when all filters have returned, of which some write logs.
func TestResponseIsCompleteAfterASlowLog(t *testing.T) {
	apiserver := func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusUnauthorized) }
	run(t, drain, apiserver, func(t *testing.T, e *env) {
		next := e.gateway.handler
		e.gateway.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(w, r)
			time.Sleep(5 * time.Second)
		})
		if code := e.get(t, "/version"); code != http.StatusUnauthorized {
			t.Errorf("got %d", code)
		}
	})
}

// Slowloris: a connection that sends no request ends, before and after its TLS handshake.
func TestConnectionWithoutRequestEnds(t *testing.T) {
	run(t, drain, fakeAPIServer, func(t *testing.T, e *env) {
		limit := e.gateway.options.Config.Limits.ReadHeaderTimeout.Duration
		plain, err := e.listener.Dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer plain.Close()
		secure := e.dialTLS(t, "http/1.1")
		defer secure.Close()
		if _, err := io.WriteString(secure, "GET /version HTTP/1.1\r\nHost: sluice\r\nX: "); err != nil {
			t.Fatal(err)
		}
		time.Sleep(limit + time.Second)
		synctest.Wait()
		if _, err := plain.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("without a handshake: %v", err)
		}
		_, _ = io.Copy(io.Discard, secure)
		if _, err := secure.Read(make([]byte, 1)); err == nil {
			t.Error("an unfinished header keeps the connection")
		}
	})
}
