package limits

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"sluice/test/support/proxytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// gate is a Listener that makes handshakes.
type gate struct {
	*Listener
	network *proxytest.Listener
	log     *observer.ObservedLogs
	metrics *HandshakeMetrics
	client  *tls.Config // which accepts any certificate
}

// shake runs a test with a gate, whose clients may have certificates.
func shake(t *testing.T, test func(t *testing.T, g *gate)) {
	t.Helper()
	pair := certificate(t, 0, 0)
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zap.InfoLevel)
		g := &gate{
			network: proxytest.NewListener(), log: logs, metrics: NewHandshakeMetrics(prometheus.NewRegistry()),
			client: &tls.Config{InsecureSkipVerify: true},
		}
		g.Listener = Listen(g.network, ListenerOptions{
			TLS: &tls.Config{
				ClientAuth:     tls.RequestClientCert,
				GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &pair, nil },
			},
			Memory: NewMemory(1<<30, 1<<20), Failed: g.metrics.Failed("api", zap.New(core)),
		})
		test(t, g)
		_ = g.Listener.Close()
	})
}

// connect opens a connection without TLS.
func (g *gate) connect(t *testing.T) net.Conn {
	c := g.network.DialFrom("192.0.2.1")
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// failures returns how many failures are counted.
func (g *gate) failures() int {
	return int(testutil.ToFloat64(g.metrics.errors.WithLabelValues("api")))
}

// certificate returns a certificate with a number of names and an extension, whose length is in bytes.
func certificate(t *testing.T, names, extension int) tls.Certificate {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: slices.Repeat([]string{"a"}, names),
		ExtraExtensions: []pkix.Extension{{Id: []int{1, 2, 3}, Value: make([]byte, extension)}},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}
}

// What a certificate takes in memory is up to a hundred times its length, and nobody has to trust it.
func TestLargeClientCertificatesAreRefused(t *testing.T) {
	for _, row := range []struct {
		name             string
		names, extension int
		accepted         bool
	}{
		{"some names", 100, 8 << 10, true},
		{"many names", 300, 0, false},
		{"long", 1, 48 << 10, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			pair := certificate(t, row.names, row.extension)
			shake(t, func(t *testing.T, g *gate) {
				g.client.Certificates = []tls.Certificate{pair}
				client := tls.Client(g.connect(t), g.client)
				ended := make(chan error, 1)
				go func() {
					_, err := client.Read(make([]byte, 1))
					ended <- err
				}()
				synctest.Wait()
				if !row.accepted {
					if err := <-ended; err == nil || g.failures() != 1 {
						t.Errorf("%v; counted %d", err, g.failures())
					}
					return
				}
				c, err := g.Accept()
				if err != nil {
					t.Fatal(err)
				}
				_ = c.Close()
				<-ended
			})
		})
	}
}

// A server that made the handshake itself would keep the stack that it needs.
func TestAcceptedConnectionsHaveDoneTheirHandshakes(t *testing.T) {
	shake(t, func(t *testing.T, g *gate) {
		g.connect(t) // a client that says nothing keeps no other out
		client := tls.Client(g.connect(t), g.client)
		go func() { _, _ = client.Write([]byte("x")) }()
		c, err := g.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if !c.(*tls.Conn).ConnectionState().HandshakeComplete {
			t.Error("the handshake is the server's")
		}
		if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
			t.Error(err)
		}
	})
}

func TestHandshakesThatFailAreCountedAndLogged(t *testing.T) {
	for want, fail := range map[string]func(t *testing.T, g *gate){
		"EOF":         func(t *testing.T, g *gate) { _ = g.connect(t).Close() },
		"i/o timeout": func(t *testing.T, g *gate) { g.connect(t) },
		"first record does not look like a TLS handshake": func(t *testing.T, g *gate) {
			c := g.connect(t)
			go func() { _, _ = io.WriteString(c, "GET / HTTP/1.1\r\n\r\n") }()
			if answer, _ := io.ReadAll(c); !strings.HasPrefix(string(answer), "HTTP/1.0 400 ") {
				t.Errorf("answered %q", answer)
			}
		},
		"unsupported versions": func(t *testing.T, g *gate) {
			old := &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
			if err := tls.Client(g.connect(t), old).HandshakeContext(t.Context()); err == nil {
				t.Error("accepted")
			}
		},
	} {
		t.Run(want, func(t *testing.T) {
			shake(t, func(t *testing.T, g *gate) {
				fail(t, g)
				time.Sleep(authenticateWithin + time.Second)
				lines := g.log.All()
				if g.failures() != 1 || len(lines) != 1 || !strings.Contains(fmt.Sprint(lines[0].ContextMap()["error"]), want) {
					t.Errorf("counted %d, logged %v", g.failures(), lines)
				}
			})
		})
	}
}

func TestFloodOfFailuresWritesFewLines(t *testing.T) {
	shake(t, func(t *testing.T, g *gate) {
		const n = 200
		for range n {
			_ = g.connect(t).Close()
		}
		time.Sleep(time.Second)
		if got := g.failures(); got != n || g.log.Len() != SampledLines {
			t.Errorf("%d are counted, %d lines", got, g.log.Len())
		}
	})
}

func TestCloseEndsHandshakesAndClosesWhatNobodyAccepts(t *testing.T) {
	shake(t, func(t *testing.T, g *gate) {
		silent, done := g.connect(t), tls.Client(g.connect(t), g.client)
		if err := done.HandshakeContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		_ = g.Listener.Close()
		for _, c := range []net.Conn{silent, done} {
			if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
				t.Errorf("read: %v", err)
			}
		}
		if _, err := g.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("accept: %v", err)
		}
		synctest.Wait()
		if n := testutil.CollectAndCount(g.metrics.errors); n > 0 {
			t.Errorf("counted %d", n)
		}
	})
}

func TestAClientThatFallsSilentKeepsNoProcessor(t *testing.T) {
	shake(t, func(t *testing.T, g *gate) {
		for range 8 * runtime.GOMAXPROCS(0) {
			go tls.Client(deaf{g.connect(t)}, g.client).HandshakeContext(t.Context())
		}
		synctest.Wait()
		client := tls.Client(g.connect(t), g.client)
		go func() { _ = client.HandshakeContext(t.Context()) }()
		c, err := g.Accept()
		if err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
	})
}

// deaf is a connection whose client never reads.
type deaf struct{ net.Conn }

// Read implements net.Conn.
func (d deaf) Read([]byte) (int, error) {
	time.Sleep(authenticateWithin / 2)
	return 0, net.ErrClosed
}

func TestHandshakesWaitUntilOthersHaveComputed(t *testing.T) {
	shake(t, func(t *testing.T, g *gate) {
		leave, _ := g.cpu.Enter(t.Context(), Caller{}, runtime.GOMAXPROCS(0)) // one request may take all
		client := tls.Client(g.connect(t), g.client)
		done := make(chan error, 1)
		go func() { done <- client.HandshakeContext(context.Background()) }()
		synctest.Wait()
		if len(done) > 0 {
			t.Fatalf("the handshake did not wait: %v", <-done)
		}
		leave()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		served, err := g.Accept()
		synctest.Wait()
		if _, taken, _ := g.cpu.Numbers(); err != nil || taken > 0 {
			t.Errorf("%v; %d compute", err, taken)
		}
		_ = client.NetConn().Close()
		_ = served.Close()
	})
}

func TestAHandshakeThatGetsNoProcessorEnds(t *testing.T) {
	shake(t, func(t *testing.T, g *gate) {
		leave, _ := g.cpu.Enter(t.Context(), Caller{}, runtime.GOMAXPROCS(0))
		client := call(g.network, "192.0.2.1")
		time.Sleep(authenticateWithin)
		synctest.Wait()
		if g.failures() != 1 {
			t.Errorf("logged %v", g.log.All())
		}
		leave()
		_ = client.Close()
	})
}
