package handshake

import (
	"crypto/tls"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// slowly makes the keys of each handshake take a while, and counts those at work.
func slowly(config *tls.Config, while time.Duration) (most *atomic.Int32) {
	most = new(atomic.Int32)
	var now atomic.Int32
	certificate := config.GetCertificate
	config.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		most.Store(max(most.Load(), now.Add(1)))
		defer now.Add(-1)
		time.Sleep(while)
		return certificate(hello)
	}
	return most
}

func TestAsManyHandshakesComputeAsThereAreProcessors(t *testing.T) {
	var most *atomic.Int32
	runWith(t, func(c *tls.Config) { most = slowly(c, time.Millisecond) }, func(t *testing.T, e *env) {
		const clients = 100
		for range clients {
			client := tls.Client(e.dial(t), e.client)
			go func() { _ = client.HandshakeContext(t.Context()) }()
		}
		for range clients {
			c, err := e.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
		}
		if got := int(most.Load()); got > runtime.GOMAXPROCS(0) {
			t.Errorf("%d at the same time", got)
		}
	})
}

func TestAClientThatFallsSilentKeepsNoTurn(t *testing.T) {
	run(t, func(t *testing.T, e *env) {
		for range 8 * runtime.GOMAXPROCS(0) {
			go tls.Client(deaf{e.dial(t)}, e.client).HandshakeContext(t.Context())
		}
		synctest.Wait()
		client := tls.Client(e.dial(t), e.client)
		go func() { _ = client.HandshakeContext(t.Context()) }()
		c, err := e.Accept()
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
	})
}

// deaf is a connection whose client never reads.
type deaf struct{ net.Conn }

// Read implements net.Conn.
func (d deaf) Read([]byte) (int, error) {
	time.Sleep(timeLimit / 2)
	return 0, net.ErrClosed
}
