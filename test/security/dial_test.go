package security

import (
	"crypto/x509"
	"syscall"
	"testing"
)

// smallReceiveBuffer makes a connection accept little that its client does not read.
func smallReceiveBuffer(_, _ string, c syscall.RawConn) error {
	var failed error
	if err := c.Control(func(fd uintptr) { failed = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096) }); err != nil {
		return err
	}
	return failed
}

func pool(t *testing.T, pem []byte) *x509.CertPool {
	t.Helper()
	p := x509.NewCertPool()
	if !p.AppendCertsFromPEM(pem) {
		t.Fatal("no certificate")
	}
	return p
}
