package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"go.uber.org/zap"

	"sluice/config"
	"sluice/config/files"
)

// The results of a reload, as they stand in the metric.
const (
	reloadSucceeded = "succeeded"
	reloadInvalid   = "invalid"       // the file has problems
	reloadRefused   = "needs-restart" // a field has changed that cannot change while Sluice runs
)

// reloader applies changes of the configuration file while Sluice runs. A file is applied as a whole or
// not at all, so that Sluice always runs by one version of it.
type reloader struct {
	path    string                       // empty if there is no file
	load    func() (*config.File, error) // the file with flags and defaults, without problems
	apply   func(*config.File)
	log     *zap.Logger
	metrics *reloadMetrics
	running atomic.Pointer[config.File]
	files   *files.Files // nil if there is no file
	hangup  chan os.Signal
}

// newReloader returns the reloader of the file at path, which load loads. From here on SIGHUP never ends
// the process, neither before run nor while connections drain.
func newReloader(path string, load func() (*config.File, error)) *reloader {
	r := &reloader{path: path, load: load, hangup: make(chan os.Signal, 1)}
	if path != "" {
		r.files = files.New(path)
	}
	signal.Notify(r.hangup, syscall.SIGHUP)
	return r
}

// run reloads the file when it changes and on SIGHUP, until ctx ends. It always returns nil.
func (r *reloader) run(ctx context.Context) error {
	t := time.NewTicker(files.Interval)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
			r.poll()
		case <-r.hangup:
			r.reload()
		}
	}
}

// poll reloads the file if it has changed.
func (r *reloader) poll() {
	if r.files != nil && r.files.Changed() {
		r.reload()
	}
}

// reload applies the file, or logs why it cannot.
func (r *reloader) reload() {
	if r.path == "" {
		r.log.Warn("configuration not reloaded", zap.Error(errors.New("there is no configuration file")))
		return
	}
	file, err := r.load()
	if err != nil {
		r.metrics.count(reloadInvalid)
		r.log.Error("configuration not reloaded", zap.Error(err))
		return
	}
	live, restart := config.Changes(r.running.Load(), file)
	if len(restart) > 0 {
		r.metrics.count(reloadRefused)
		r.log.Error("configuration not reloaded, a restart is needed", zap.Strings("fields", restart), zap.Strings("not_applied", live))
		return
	}
	r.apply(file)
	r.running.Store(file)
	r.metrics.count(reloadSucceeded)
	r.log.Info("configuration reloaded", zap.Strings("fields", live))
}

// reload changes the components as far as they can change while they run: by the fields with the tag
// reload, see config.Changes.
func (c *components) reload(file *config.File) {
	if level, err := zap.ParseAtomicLevel(file.Log.Level); err == nil { // it is valid
		c.logLevel.SetLevel(level.Level())
	}
	c.gateway.Reload(file)
	c.access.Authenticator.SetTokenTTL(file.Authentication.TokenTTL.Duration)
	c.access.Authorizer.SetTTLs(file.Authorization.AllowTTL.Duration, file.Authorization.DenyTTL.Duration)
	c.access.SetStaleFor(file.Authorization.StaleFor.Duration)
	c.access.SetSome(file.Authorization.AllowedNamespaces.Match)
	c.resources.SetProofCost(proofCost(file.Cache.Proofs))
}
