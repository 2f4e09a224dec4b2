package handshake

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"math/big"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"sluice/proxy/certs"
	"sluice/proxy/flood"
	"sluice/proxy/limits"
	"sluice/test/support/proxytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// env is a listener on in-memory connections.
type env struct {
	net.Listener
	below   *proxytest.Listener
	log     *observer.ObservedLogs
	metrics *prometheus.Registry
	client  *tls.Config // which accepts any certificate
}

const timeLimit = 5 * time.Second

// run runs a test in a bubble of virtual time.
func run(t *testing.T, test func(t *testing.T, e *env)) {
	t.Helper()
	runWith(t, func(*tls.Config) {}, test)
}

// runWith is run with another configuration of the server.
func runWith(t *testing.T, change func(*tls.Config), test func(t *testing.T, e *env)) {
	t.Helper()
	files, err := certs.Ensure(t.TempDir(), []string{"sluice"})
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(files.Cert, files.Key)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zap.InfoLevel)
		e := &env{below: proxytest.NewListener(), log: logs, metrics: prometheus.NewRegistry(), client: &tls.Config{InsecureSkipVerify: true}}
		config := &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &pair, nil }}
		change(config)
		e.Listener = limits.Listen(e.below, limits.ListenerOptions{
			TLS: config, HandshakeTimeout: timeLimit, Memory: limits.NewMemory(1<<30, 1<<20),
			Failed: NewMetrics(e.metrics).Failed("api", zap.New(core)),
		})
		defer e.Close()
		test(t, e)
	})
}

// dial opens a connection without TLS.
func (e *env) dial(t *testing.T) net.Conn {
	t.Helper()
	c, err := e.below.Dial(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// failures returns the failures that are counted, by reason.
func (e *env) failures(t *testing.T) map[string]int {
	t.Helper()
	families, err := e.metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	n := map[string]int{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			n[m.GetLabel()[1].GetValue()] += int(m.GetCounter().GetValue())
		}
	}
	return n
}

// certificate returns one of a client, with names and an extension of so many bytes.
func certificate(t *testing.T, names, extension int) tls.Certificate {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: slices.Repeat([]string{"a"}, names),
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
			runWith(t, func(c *tls.Config) { c.ClientAuth = tls.RequestClientCert }, func(t *testing.T, e *env) {
				e.client.Certificates = []tls.Certificate{certificate(t, row.names, row.extension)}
				client := tls.Client(e.dial(t), e.client)
				ended := make(chan error, 1)
				go func() {
					_, err := client.Read(make([]byte, 1))
					ended <- err
				}()
				synctest.Wait()
				if !row.accepted {
					if err := <-ended; err == nil || e.failures(t)[mismatch] != 1 {
						t.Errorf("%v; counted %v", err, e.failures(t))
					}
					return
				}
				c, err := e.Accept()
				if err != nil {
					t.Fatal(err)
				}
				c.Close()
				<-ended
			})
		})
	}
}

// A server that made the handshake itself would keep the stack that it needs.
func TestAcceptedConnectionsHaveDoneTheirHandshakes(t *testing.T) {
	run(t, func(t *testing.T, e *env) {
		e.dial(t) // a client that says nothing keeps no other out
		client := tls.Client(e.dial(t), e.client)
		go func() { _, _ = client.Write([]byte("x")) }()
		c, err := e.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if !c.(*tls.Conn).ConnectionState().HandshakeComplete {
			t.Error("the handshake is the server's")
		}
		time.Sleep(timeLimit + time.Second) // the end of the handshake's time must not end the connection
		if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
			t.Error(err)
		}
	})
}

func TestFailuresAreCountedByReason(t *testing.T) {
	for want, fail := range map[string]func(t *testing.T, e *env){
		closed:  func(t *testing.T, e *env) { e.dial(t).Close() },
		timeout: func(t *testing.T, e *env) { e.dial(t) },
		plaintext: func(t *testing.T, e *env) {
			c := e.dial(t)
			go func() { _, _ = io.WriteString(c, "GET / HTTP/1.1\r\n\r\n") }()
			if answer, _ := io.ReadAll(c); !strings.HasPrefix(string(answer), "HTTP/1.0 400 ") {
				t.Errorf("answered %q", answer)
			}
		},
		mismatch: func(t *testing.T, e *env) {
			old := &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
			if err := tls.Client(e.dial(t), old).HandshakeContext(t.Context()); err == nil {
				t.Error("accepted")
			}
		},
	} {
		t.Run(want, func(t *testing.T) {
			run(t, func(t *testing.T, e *env) {
				fail(t, e)
				time.Sleep(timeLimit + time.Second)
				if n := e.failures(t); len(n) != 1 || n[want] != 1 {
					t.Errorf("counted %v", n)
				}
				lines := e.log.All()
				if len(lines) != 1 || lines[0].ContextMap()["reason"] != want {
					t.Errorf("logged %v", lines)
				}
			})
		})
	}
}

// An in-memory connection has no buffer in which an alert could wait until the server has written.
func TestAlertOfTheClientIsARejection(t *testing.T) {
	if got := reasonOf(&net.OpError{Op: "remote error", Err: tls.AlertError(42)}); got != rejected {
		t.Errorf("it is %s", got)
	}
}

func TestFloodOfFailuresWritesFewLines(t *testing.T) {
	run(t, func(t *testing.T, e *env) {
		const n = 200
		for range n {
			e.dial(t).Close()
		}
		time.Sleep(time.Second)
		if got := e.failures(t)[closed]; got != n {
			t.Errorf("%d are counted", got)
		}
		if e.log.Len() != flood.Lines {
			t.Errorf("%d lines", e.log.Len())
		}
	})
}

func TestCloseEndsHandshakesAndClosesWhatNobodyAccepts(t *testing.T) {
	run(t, func(t *testing.T, e *env) {
		silent, done := e.dial(t), tls.Client(e.dial(t), e.client)
		if err := done.HandshakeContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		e.Close()
		for _, c := range []net.Conn{silent, done} {
			if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
				t.Errorf("read: %v", err)
			}
		}
		if _, err := e.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("accept: %v", err)
		}
		if _, err := e.below.Dial(context.Background(), "", ""); err == nil {
			t.Error("the listener below is open")
		}
		synctest.Wait()
		if n := e.failures(t); len(n) > 0 {
			t.Errorf("counted %v", n)
		}
	})
}
