package connections

import (
	"context"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"sluice/proxy/accounts"
)

// multiplexed is an HTTP/2 connection whose frames a test makes up.
type multiplexed struct {
	*conn
	t              *testing.T
	received, sent frame
}

const testStreams = 100

func multiplex(t *testing.T, c *conn) *multiplexed {
	c.received.http2.Store(true)
	c.received.streams = newStreams(&c.mu, testStreams, streamBytes+2*64<<10)
	t.Cleanup(func() { _ = c.Close() })
	return &multiplexed{conn: c, t: t}
}

// encode returns a frame.
func encode(kind http2.FrameType, flags http2.Flags, stream uint32, length int) []byte {
	header := []byte{byte(length >> 16), byte(length >> 8), byte(length), byte(kind), byte(flags),
		byte(stream >> 24), byte(stream >> 16), byte(stream >> 8), byte(stream)}
	return append(header, make([]byte, length)...)
}

// receive receives a frame in pieces.
func (m *multiplexed) receive(kind http2.FrameType, flags http2.Flags, stream uint32, length int) {
	m.t.Helper()
	for p := encode(kind, flags, stream, length); len(p) > 0; {
		n := 1 + rand.IntN(len(p))
		m.observe(&m.received, p[:n], (*streams).receive)
		p = p[n:]
	}
	if err := m.await(true); err != nil {
		m.t.Error(err)
	}
}

// send sends a frame.
func (m *multiplexed) send(kind http2.FrameType, flags http2.Flags, stream uint32, length int) {
	m.t.Helper()
	m.observe(&m.sent, encode(kind, flags, stream, length), (*streams).send)
	m.change(func(*streams) {})
}

// get opens a stream without a body, whose header has a length.
func (m *multiplexed) get(stream uint32, length int) {
	m.t.Helper()
	first := min(length, FrameBytes)
	m.receive(http2.FrameHeaders, http2.FlagHeadersEndStream, stream, first)
	for rest := length - first; rest > 0; rest -= FrameBytes {
		m.receive(http2.FrameContinuation, 0, stream, min(rest, FrameBytes))
	}
}

// streamed returns a request of HTTP/2, and what ends its stream.
func streamed() (*http.Request, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, lists, nil)
	r.ProtoMajor = 2
	return r, cancel
}

func TestStreamCountsWhileNoRequestCountsIt(t *testing.T) {
	l := receiving(t, math.MaxInt64)
	m := multiplex(t, l.accept("192.0.2.1:1"))
	const streams, header = 50, 40 << 10
	running := []*http.Request{}
	want := func(what string, least, most int64) {
		t.Helper()
		if n := l.used(accounts.Unverified); n < least || n > most {
			t.Errorf("%s: %d bytes count, not %d to %d", what, n, least, most)
		}
	}
	m.get(1, 100)
	want("one of the usual length", 0, 0)
	for i := range uint32(streams - 1) {
		m.get(2*i+3, header)
	}
	want("before their handlers", streams*header, streams*4*header)
	for range streams {
		r, cancel := streamed()
		t.Cleanup(cancel)
		m.begin(r)
		running = append(running, r)
	}
	want("while they run", 0, 0)
	for _, r := range running {
		m.end(r.Context(), r)
	}
	want("after their handlers", (streams-1)*accounts.RequestBytes, 2*streams*accounts.RequestBytes)
	for i := range uint32(streams) {
		if i%2 == 0 {
			m.send(http2.FrameData, http2.FlagDataEndStream, 2*i+1, 0)
		} else {
			m.receive(http2.FrameRSTStream, 0, 2*i+1, 4)
		}
		m.receive(http2.FrameRSTStream, 0, 2*i+1, 4) // again
	}
	want("in the end", 0, 0)
}

func TestHeaderThatIsNotCompleteCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := receiving(t, math.MaxInt64)
		m := multiplex(t, l.accept("192.0.2.1:1"))
		m.receive(http2.FrameHeaders, http2.FlagHeadersEndStream, 1, 1)
		for range 2000 {
			m.receive(http2.FrameContinuation, 0, 1, 1)
		}
		if n := l.used(accounts.Unverified); n < 2000*fieldExpansion-receivedFree {
			t.Errorf("%d bytes count of 2000 fields", n)
		}
		m.receive(http2.FrameRSTStream, 0, 1, 4)
		m.receive(http2.FrameHeaders, 0, 3, 1)
		if n := l.used(accounts.Unverified); n < ReceiveBuffer {
			t.Errorf("%d bytes count of a body", n)
		}
		m.receive(http2.FrameRSTStream, 0, 3, 4)
		if n := l.used(accounts.Unverified); n != 0 {
			t.Errorf("%d bytes count in the end", n)
		}
	})
}

// A request whose stream was reset has no stream, so that it stands for none.
func TestHandlerWithoutAStreamStandsForNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := receiving(t, math.MaxInt64)
		m := multiplex(t, l.accept("192.0.2.1:1"))
		defer m.Close()
		stream, running := uint32(1), []*http.Request{}
		open := func(header int) {
			m.get(stream, header)
			stream += 2
		}
		for range testStreams {
			open(100)
			r, cancel := streamed()
			m.begin(r)
			running = append(running, r)
			m.receive(http2.FrameRSTStream, 0, stream-2, 4)
			cancel()
		}
		synctest.Wait()
		for range 50 {
			open(60 << 10)
			m.receive(http2.FrameRSTStream, 0, stream-2, 4)
		}
		if n := l.used(accounts.Unverified); n < 50*60<<10 {
			t.Errorf("%d bytes count of streams that were reset and wait for handlers", n)
		}
		for _, r := range running {
			m.end(r.Context(), r)
		}
		if n := l.used(accounts.Unverified); n != 0 {
			t.Errorf("%d bytes count in the end", n)
		}
	})
}

// A connection may be used for days.
func TestNothingAddsUpOnAConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := receiving(t, math.MaxInt64)
		m := multiplex(t, l.accept("192.0.2.1:1"))
		defer m.Close()
		m.get(1, 100)
		watch, cancel := streamed()
		defer cancel()
		m.begin(watch)
		defer m.end(watch.Context(), watch)
		for i := range uint32(5000) {
			m.send(http2.FrameData, 0, 1, 100)
			m.receive(http2.FrameWindowUpdate, 0, 1, 4)
			m.receive(http2.FramePing, 0, 0, 8)
			m.send(http2.FramePing, http2.FlagPingAck, 0, 8)
			m.get(2*i+3, int(i%1000))
			m.receive(http2.FrameRSTStream, 0, 2*i+3, 4)
			r, cancel := streamed()
			if i%2 == 0 {
				cancel()
			}
			m.begin(r)
			m.end(r.Context(), r)
			cancel()
		}
		synctest.Wait()
		if n := l.used(accounts.Unverified); n != 0 {
			t.Errorf("%d bytes count beside a request", n)
		}
	})
}

// asked is a request whose state is asked for.
type asked struct {
	context.Context
	times int
}

func (a *asked) Err() error {
	a.times++
	return a.Context.Err()
}

// A connection with many watches sends and receives frames all the time.
func TestFrameOfARunningRequestLooksAtNoOther(t *testing.T) {
	l := receiving(t, math.MaxInt64)
	m := multiplex(t, l.accept("192.0.2.1:1"))
	watches := []*asked{}
	for i := range uint32(testStreams) {
		m.get(2*i+1, 100)
		r, cancel := streamed()
		t.Cleanup(cancel)
		w := &asked{Context: r.Context()}
		m.begin(r.WithContext(w))
		watches = append(watches, w)
	}
	for _, w := range watches {
		w.times = 0
	}
	for range 10 {
		m.send(http2.FrameData, 0, 1, 100)
		m.receive(http2.FrameWindowUpdate, 0, 1, 4)
		m.receive(http2.FramePing, 0, 0, 8)
		m.send(http2.FramePing, http2.FlagPingAck, 0, 8)
	}
	for i, w := range watches {
		if w.times > 0 {
			t.Fatalf("watch %d was looked at %d times", i, w.times)
		}
	}
}

// Answers that the client causes and does not receive wait in the server.
func TestAnswersThatAreNotReceivedCount(t *testing.T) {
	for kind, stream := range map[http2.FrameType]uint32{
		http2.FramePing: 0, http2.FrameWindowUpdate: 7, http2.FrameData: 7, http2.FrameHeaders: 1,
	} {
		synctest.Test(t, func(t *testing.T) {
			l := receiving(t, math.MaxInt64)
			m := multiplex(t, l.accept("192.0.2.1:1"))
			m.receive(http2.FrameHeaders, http2.FlagHeadersEndStream, 1, 1)
			for range 1000 {
				m.receive(kind, 0, stream, 8)
			}
			if n := l.used(accounts.Unverified); n < 100*1000 {
				t.Errorf("%s: %d bytes count of 1000 answers", kind, n)
			}
			for range 1000 {
				m.send(http2.FrameRSTStream, 0, 7, 4)
			}
			if n := l.used(accounts.Unverified); n != 0 {
				t.Errorf("%s: %d bytes count in the end", kind, n)
			}
		})
	}
}

// A user whose watches take all memory for requests is refused more of them, and keeps those.
func TestAnswersOnTheirWayCloseNoConnectionOfAUser(t *testing.T) {
	for answers, closes := range map[uint32]bool{spare / accounts.RequestBytes: false, testStreams: true} {
		synctest.Test(t, func(t *testing.T) {
			l := receiving(t, math.MaxInt64)
			m := multiplex(t, l.accept("192.0.2.1:1"))
			if err := l.assign(m.conn, "jane"); err != nil {
				t.Fatal(err)
			}
			l.ledger.SetTotals(accounts.Totals{accounts.Connections: 10, accounts.Requests: 1})
			running := []*http.Request{}
			for i := range answers {
				m.observe(&m.received, encode(http2.FrameHeaders, http2.FlagHeadersEndStream, 2*i+1, 100), (*streams).receive)
				r, cancel := streamed()
				defer cancel()
				m.begin(r)
				running = append(running, r)
			}
			for _, r := range running {
				m.end(r.Context(), r)
			}
			synctest.Wait()
			m.mu.Lock()
			closed := m.closed
			m.mu.Unlock()
			if closed != closes {
				t.Errorf("%d answers: closed %v, want %v", answers, closed, closes)
			}
		})
	}
}

// A server works on each ping, and on each window that is opened by a byte: they cost it far more than their sender.
func TestShortFramesTakeTheirTime(t *testing.T) {
	for _, row := range []struct {
		name  string
		user  bool
		sends func(m *multiplexed)
		waits time.Duration
	}{
		{"as many as may come at once", false, func(m *multiplexed) { m.repeat(shortAtOnce, http2.FramePing, 8) }, 0},
		{"more pings of a stranger", false, func(m *multiplexed) { m.repeat(shortAtOnce+100, http2.FramePing, 8) }, 100 * strangerPace},
		{"more pings of a user", true, func(m *multiplexed) { m.repeat(shortAtOnce+100, http2.FramePing, 8) }, 100 * userPace},
		{"settings", true, func(m *multiplexed) { m.repeat(shortAtOnce+100, http2.FrameSettings, 600) }, 100 * userPace},
		{"a body in empty pieces", true, func(m *multiplexed) {
			m.get(1, 20)
			m.repeat(shortEarned+shortAtOnce+100, http2.FrameData, 0)
		}, 100 * userPace},
		{"a body", true, func(m *multiplexed) {
			m.get(1, 20)
			m.repeat(shortAtOnce+100, http2.FrameData, shortFrame)
		}, 0},
		{"windows for what was received before", true, func(m *multiplexed) {
			for range 1000 {
				m.send(http2.FrameData, 0, 1, earningFrame)
			}
			m.repeat(1000*shortEarned, http2.FrameWindowUpdate, 4)
		}, 0},
		{"pieces of a body without a stream", true, func(m *multiplexed) {
			m.repeat(shortAtOnce+100, http2.FrameData, shortFrame)
		}, 100 * userPace},
		{"pieces of a body that are padding", true, func(m *multiplexed) {
			m.get(1, 20)
			for range shortEarned + shortAtOnce + 100 {
				m.receive(http2.FrameData, http2.FlagDataPadded, 1, shortFrame)
			}
		}, 100 * userPace},
		{"headers of streams that are refused", true, func(m *multiplexed) {
			for i := range uint32(testStreams) {
				m.get(2*i+1, 20)
			}
			const frames = 11 // each counts besides its length
			m.get(2*testStreams+1, (testStreams*shortEarned+shortAtOnce+100-frames)*shortFrame)
		}, 100 * userPace},
		{"headers after the end was announced", true, func(m *multiplexed) {
			m.send(http2.FrameGoAway, 0, 0, 8)
			for i := range uint32(shortAtOnce + 100) {
				m.get(2*i+1, shortFrame-1)
			}
		}, 100 * userPace},
		{"records without data", true, func(m *multiplexed) {
			m.wrap(wrappingFree+(shortAtOnce+100)*recordBytes, 0)
		}, 100 * userPace},
		{"a body in records of its length", true, func(m *multiplexed) {
			for range 10 * wrappingFree / 512 {
				m.wrap(512+22, 512)
			}
		}, 0},
		{"pings after much was received", true, func(m *multiplexed) {
			for range maxEarned {
				m.send(http2.FrameData, 0, 1, earningFrame)
			}
			m.repeat(maxEarned+shortAtOnce+100, http2.FramePing, 8)
		}, 100 * userPace},
		{"windows of a byte", true, func(m *multiplexed) {
			for range shortAtOnce + 100 {
				m.repeat(1, http2.FrameWindowUpdate, 4)
				m.send(http2.FrameData, 0, 1, 1)
			}
		}, 100 * userPace},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := receiving(t, math.MaxInt64)
				m := multiplex(t, l.accept("192.0.2.1:1"))
				if row.user {
					if err := l.assign(m.conn, "jane"); err != nil {
						t.Fatal(err)
					}
				}
				begin := time.Now()
				if row.sends(m); time.Since(begin) != row.waits {
					t.Errorf("waits %v, want %v", time.Since(begin), row.waits)
				}
				time.Sleep(shortAtOnce * strangerPace) // then as many may come at once again
				begin = time.Now()
				if m.repeat(shortAtOnce, http2.FramePing, 8); time.Since(begin) != 0 {
					t.Errorf("waits %v after a rest", time.Since(begin))
				}
				time.AfterFunc(userPace/2, m.evict)
				if m.repeat(100, http2.FramePing, 8); time.Since(begin) != userPace/2 {
					t.Errorf("waits %v after it was cut", time.Since(begin)-userPace/2)
				}
			})
		})
	}
}

// wrap receives so many bytes of TLS records, which hold n.
func (m *multiplexed) wrap(wrapped int64, n int) {
	m.t.Helper()
	m.conn.received.wrapping.received.Add(wrapped)
	m.unwrap(n)
	if err := m.await(false); err != nil {
		m.t.Error(err)
	}
}

// repeat receives a frame n times.
func (m *multiplexed) repeat(n int, kind http2.FrameType, length int) {
	m.t.Helper()
	for range n {
		m.receive(kind, 0, 1, length)
	}
}

// A stranger that waits leaves its turn of the processors to others.
func TestConnectionThatIsAheadOfItsPaceHasNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := receiving(t, math.MaxInt64)
		m := multiplex(t, l.accept("192.0.2.1:1"))
		for range shortAtOnce + 1 {
			m.observe(&m.received, encode(http2.FramePing, 0, 0, 8), (*streams).receive)
		}
		turn := m.limiter.turns.Join(m.self(), 1, 0)
		m.turn.Store(turn)
		if err := m.await(true); err != nil {
			t.Error(err)
		}
		if n, _ := m.limiter.turns.Numbers(); n != 0 {
			t.Errorf("%d turns are taken", n)
		}
	})
}

// Clients open streams before they know how many they may.
func TestStreamThatTheServerRefusesIsNotAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := receiving(t, math.MaxInt64)
		m := multiplex(t, l.accept("192.0.2.1:1"))
		running, cancel := streamed()
		defer cancel()
		m.observe(&m.received, encode(http2.FrameHeaders, http2.FlagHeadersEndHeaders, 1, 20), (*streams).receive)
		m.begin(running)
		begin := time.Now()
		for i := range uint32(20) {
			m.observe(&m.received, encode(http2.FrameHeaders, http2.FlagHeadersEndHeaders, 2*i+3, 20), (*streams).receive)
			go m.send(http2.FrameRSTStream, 0, 2*i+3, 4)
			if err := m.await(true); err != nil {
				t.Error(err)
			}
		}
		if waited := time.Since(begin); waited != 0 {
			t.Errorf("it waits %v", waited)
		}
	})
}
