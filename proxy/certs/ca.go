package certs

import (
	"context"
	"crypto/x509"
	"fmt"
	"os"
	"sync/atomic"

	"go.uber.org/zap"
	"k8s.io/client-go/util/cert"

	"sluice/config/files"
)

// CA verifies client certificates by a file, which is read again when it changes.
type CA struct {
	path  string
	files *files.Files
	log   *zap.Logger
	roots atomic.Pointer[x509.CertPool]
}

// NewCA returns a CA that has loaded the file once.
func NewCA(path string, log *zap.Logger) (*CA, error) {
	c := &CA{path: path, files: files.New(path), log: log}
	return c, c.load()
}

// Roots returns the certificates of the CA. It is another pool after each change.
func (c *CA) Roots() *x509.CertPool { return c.roots.Load() }

// Run loads the file again when it changes, until ctx ends, and always returns nil. It keeps the last valid CA while the
// file cannot be read or has no certificate.
func (c *CA) Run(ctx context.Context) error {
	c.files.Follow(ctx, func() {
		if err := c.load(); err != nil {
			c.log.Warn("client CA not reloaded", zap.Error(err))
			return
		}
		c.log.Info("client CA reloaded", zap.String("file", c.path))
	})
	return nil
}

func (c *CA) load() error {
	text, err := os.ReadFile(c.path)
	if err != nil {
		return err
	}
	roots, err := cert.NewPoolFromBytes(text)
	if err != nil {
		return fmt.Errorf("%s: %w", c.path, err)
	}
	c.roots.Store(roots)
	return nil
}
