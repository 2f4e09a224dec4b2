package abuse

import (
	"bytes"
	"context"
	"net"
	"sync"
)

// Connections opens connections to the admin listener that send nothing, or the beginning of a header.
type Connections struct {
	Count  int
	Header int // bytes of the header, which never ends
}

// Attack implements Attacker.
func (c Connections) Attack(ctx context.Context, t *Target, _ []string) (Tally, error) {
	host, err := loopback(t.Admin)
	if err != nil {
		return nil, err
	}
	var header []byte
	if c.Header > 0 {
		header = append([]byte("GET / HTTP/1.1\r\nHost: localhost\r\n"), bytes.Repeat([]byte("X: "+string(bytes.Repeat([]byte("x"), 1000))+"\r\n"), c.Header/1005)...)
	}
	var answers counter
	var running sync.WaitGroup
	places := make(chan struct{}, dialers)
	for range c.Count {
		places <- struct{}{}
		running.Go(func() {
			conn, err := net.DialTimeout("tcp", host, dialLimit)
			<-places
			if err != nil {
				answers.add(Refused)
				return
			}
			defer conn.Close()
			stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
			defer stop()
			_ = conn.(*net.TCPConn).SetLinger(0) // leaves no port in TIME_WAIT
			if _, err := conn.Write(header); err == nil {
				_, _ = conn.Read(make([]byte, 1)) // until either side closes
			}
			if ctx.Err() == nil {
				answers.add(Cut)
			}
		})
		if ctx.Err() != nil {
			break
		}
	}
	running.Wait()
	return answers.take(), nil
}

// dialers is how many connections open at the same time.
const dialers = 64
