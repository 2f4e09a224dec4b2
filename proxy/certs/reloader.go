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

// pollInterval is how often the files are read. Comparing their content instead of watching inodes
// makes the two levels of symbolic links of mounted secrets work without special treatment.
const pollInterval = 10 * time.Second

// Reloader is a certificate that is read from files again when they change.
type Reloader struct {
	certFile, keyFile string
	log               *zap.Logger
	pair              atomic.Pointer[tls.Certificate]
	loaded            [2][]byte // the content of the two files from which pair was parsed
}

// NewReloader returns a Reloader that has loaded the files once.
func NewReloader(certFile, keyFile string, log *zap.Logger) (*Reloader, error) {
	r := &Reloader{certFile: certFile, keyFile: keyFile, log: log}
	if _, err := r.load(); err != nil {
		return nil, fmt.Errorf("serving certificate: %w", err)
	}
	return r, nil
}

// Run reads the files every pollInterval until ctx ends, and always returns nil. It keeps the last
// valid certificate while the files cannot be read or do not match.
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
			r.log.Warn("serving certificate not reloaded", zap.Error(err))
		case changed:
			r.log.Info("serving certificate reloaded", zap.String("file", r.certFile))
		}
	}
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
	if bytes.Equal(cert, r.loaded[0]) && bytes.Equal(key, r.loaded[1]) {
		return false, nil
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return false, fmt.Errorf("%s: %w", r.certFile, err)
	}
	r.pair.Store(&pair)
	r.loaded = [2][]byte{cert, key}
	return true, nil
}
