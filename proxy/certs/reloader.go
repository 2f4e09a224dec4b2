package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"sync/atomic"

	"go.uber.org/zap"
	"k8s.io/client-go/util/cert"

	"sluice/config/files"
)

// reloaded is a value that is read from files again when they change.
type reloaded[T any] struct {
	what, file string
	files      *files.Files
	log        *zap.Logger
	read       func() (*T, error)
	last       atomic.Pointer[T] // the last valid one
}

func (r *reloaded[T]) load() error {
	value, err := r.read()
	if err != nil {
		return fmt.Errorf("%s: %s: %w", r.what, r.file, err)
	}
	r.last.Store(value)
	return nil
}

// Run loads the files again when they change, until ctx ends, and always returns nil. It keeps the last
// valid content while the files cannot be read, have no certificate, or do not match.
func (r *reloaded[T]) Run(ctx context.Context) error {
	r.files.Follow(ctx, func() {
		if err := r.load(); err != nil {
			r.log.Warn(r.what+" not reloaded", zap.Error(err))
			return
		}
		r.log.Info(r.what+" reloaded", zap.String("file", r.file))
	})
	return nil
}

// CA verifies client certificates by a file, which is read again when it changes.
type CA struct{ reloaded[x509.CertPool] }

// NewCA returns a CA that has loaded the file once.
func NewCA(path string, log *zap.Logger) (*CA, error) {
	c := &CA{reloaded[x509.CertPool]{what: "client CA", file: path, files: files.New(path), log: log}}
	c.read = func() (*x509.CertPool, error) { return cert.NewPool(path) }
	return c, c.load()
}

// Roots returns the certificates of the CA. It is another pool after each change.
func (c *CA) Roots() *x509.CertPool { return c.last.Load() }

// Reloader is a certificate that is read from files again when they change.
type Reloader struct{ reloaded[tls.Certificate] }

// NewReloader returns a Reloader that has loaded the files once.
func NewReloader(certFile, keyFile string, log *zap.Logger) (*Reloader, error) {
	r := &Reloader{reloaded[tls.Certificate]{what: "serving certificate", file: certFile, files: files.New(certFile, keyFile), log: log}}
	r.read = func() (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(certFile, keyFile)
		return &pair, err
	}
	return r, r.load()
}

// Selector chooses among serving certificates by the server name that a client sends. Add all
// certificates before the first use.
type Selector struct{ reloaders []*Reloader }

// Add appends a certificate. The first one is the default.
func (s *Selector) Add(r *Reloader) { s.reloaders = append(s.reloaders, r) }

// GetCertificate returns the first certificate after the default that covers the server name, or the
// default. Use it as tls.Config.GetCertificate.
func (s *Selector) GetCertificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if hello.ServerName != "" {
		for _, r := range s.reloaders[1:] {
			if pair := r.last.Load(); pair.Leaf.VerifyHostname(hello.ServerName) == nil {
				return pair, nil
			}
		}
	}
	return s.reloaders[0].last.Load(), nil
}
