package certs

import (
	"context"
	"crypto/tls"
	"fmt"
	"sync/atomic"

	"go.uber.org/zap"

	"sluice/config/files"
)

// Reloader is a certificate that is read from files again when they change.
type Reloader struct {
	certFile, keyFile string
	files             *files.Files
	log               *zap.Logger
	pair              atomic.Pointer[tls.Certificate]
}

// NewReloader returns a Reloader that has loaded the files once.
func NewReloader(certFile, keyFile string, log *zap.Logger) (*Reloader, error) {
	r := &Reloader{certFile: certFile, keyFile: keyFile, files: files.New(certFile, keyFile), log: log}
	if err := r.load(); err != nil {
		return nil, fmt.Errorf("serving certificate: %w", err)
	}
	return r, nil
}

// Run loads the files again when they change, until ctx ends, and always returns nil. It keeps the last
// valid certificate while the files cannot be read or do not match.
func (r *Reloader) Run(ctx context.Context) error {
	r.files.Follow(ctx, func() {
		if err := r.load(); err != nil {
			r.log.Warn("serving certificate not reloaded", zap.Error(err))
			return
		}
		r.log.Info("serving certificate reloaded", zap.String("file", r.certFile))
	})
	return nil
}

func (r *Reloader) load() error {
	pair, err := tls.LoadX509KeyPair(r.certFile, r.keyFile)
	if err != nil {
		return fmt.Errorf("%s: %w", r.certFile, err)
	}
	r.pair.Store(&pair)
	return nil
}
