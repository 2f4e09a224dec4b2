package upstream

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/version"
)

const (
	healthInterval = 5 * time.Second
	healthTimeout  = 3 * time.Second
)

var errNotProbed = errors.New("not probed yet")

// badStatus is a status of the apiserver that is no success.
type badStatus int

func (e badStatus) Error() string {
	return fmt.Sprintf("apiserver responds to /version with status %d", int(e))
}

// Health is a health check of the apiserver: the result of the last periodic probe.
type Health struct {
	upstream *Upstream
	last     atomic.Pointer[error] // the result of the last probe; nil before the first
	version  atomic.Pointer[version.Info]
}

// NewHealth returns the health check of u, which fails until Run has probed the apiserver once.
func NewHealth(u *Upstream) *Health { return &Health{upstream: u} }

// Run probes the apiserver every healthInterval until ctx ends. It always returns nil. An apiserver that does not answer is asked
// for /livez before it counts as away: flow control of a busy one makes /version wait, but exempts that.
func (h *Health) Run(ctx context.Context) error {
	wait.NonSlidingUntilWithContext(ctx, func(ctx context.Context) {
		began := time.Now()
		err := h.probe(ctx)
		_, answered := errors.AsType[badStatus](err)
		if err != nil && !answered {
			answered = h.isLive(ctx)
		}
		h.last.Store(&err)
		h.upstream.contact.probed.Store(began.UnixNano())
		h.upstream.contact.silent.Store(err != nil && !answered)
	}, healthInterval)
	return nil
}

// Check returns why the last probe failed, or nil if it succeeded. It does not block.
func (h *Health) Check() error {
	if last := h.last.Load(); last != nil {
		return *last
	}
	return errNotProbed
}

// CheckOpenly is Check for unauthenticated readers: the errors of networks and certificates have names and addresses.
func (h *Health) CheckOpenly() error {
	err := h.Check()
	status, answered := errors.AsType[badStatus](err)
	_, unresolved := errors.AsType[*net.DNSError](err)
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	switch {
	case err == nil, errors.Is(err, errNotProbed):
		return err
	case answered:
		return status
	case unresolved:
		return errors.New("the name of the apiserver cannot be resolved")
	case untrusted:
		return errors.New("the certificate of the apiserver is not valid")
	case os.IsTimeout(err), errors.Is(err, context.DeadlineExceeded):
		return errors.New("the apiserver does not answer in time")
	case errors.Is(err, syscall.ECONNREFUSED):
		return errors.New("the apiserver accepts no connections")
	}
	return errors.New("the connection to the apiserver fails")
}

// Probed reports whether the first probe has ended.
func (h *Health) Probed() bool { return h.last.Load() != nil }

// Version returns the version of the apiserver that it last told; nil if it never has. It does not block.
func (h *Health) Version() *version.Info { return h.version.Load() }

// isLive reports whether the apiserver answers /livez, with any status.
func (h *Health) isLive(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	_, _, err := h.upstream.Get(ctx, "/livez", nil, "*/*")
	_, answered := errors.AsType[*apierrors.StatusError](err)
	return err == nil || answered
}

// probe gets /version, which every apiserver serves to every authenticated user.
func (h *Health) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	sent := time.Now()
	info, header, err := h.upstream.version(ctx)
	h.upstream.Clock.observe(header, sent, time.Now())
	if status, answered := errors.AsType[*apierrors.StatusError](err); answered {
		return badStatus(status.ErrStatus.Code)
	}
	if err == nil {
		h.version.Store(info)
	}
	return err
}
