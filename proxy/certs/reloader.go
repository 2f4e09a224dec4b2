package certs

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

// pollInterval is how often the files are read. Their content is compared, not
// their names' targets, so that the double symbolic links of mounted secrets
// need no special care.
const pollInterval = 10 * time.Second

// Reloader serves a certificate from files and follows their changes.
type Reloader struct {
	certFile, keyFile string
	log               *zap.Logger
	pair              atomic.Pointer[tls.Certificate]
	seen              [2][]byte // the files' content as last read
}

// NewReloader reads the pair for the first time.
func NewReloader(certFile, keyFile string, log *zap.Logger) (*Reloader, error) {
	r := &Reloader{certFile: certFile, keyFile: keyFile, log: log}
	if _, err := r.load(); err != nil {
		return nil, fmt.Errorf("serving certificate: %w", err)
	}
	return r, nil
}

// Run follows the files until the context ends. While they cannot be used, the
// pair that was last good stays.
func (r *Reloader) Run(ctx context.Context) error {
	t := time.NewTicker(pollInterval)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
		switch changed, err := r.load(); {
		case err != nil:
			r.log.Warn("serving certificate cannot be reloaded", zap.Error(err))
		case changed:
			r.log.Info("serving certificate reloaded", zap.String("file", r.certFile))
		}
	}
}

// GetCertificate fits tls.Config.
func (r *Reloader) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return r.pair.Load(), nil
}

func (r *Reloader) load() (changed bool, err error) {
	cert, err := os.ReadFile(r.certFile)
	if err != nil {
		return false, err
	}
	key, err := os.ReadFile(r.keyFile)
	if err != nil {
		return false, err
	}
	if bytes.Equal(cert, r.seen[0]) && bytes.Equal(key, r.seen[1]) {
		return false, nil
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return false, fmt.Errorf("%s: %w", r.certFile, err)
	}
	r.pair.Store(&pair)
	r.seen = [2][]byte{cert, key}
	return true, nil
}
