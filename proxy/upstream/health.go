package upstream

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/version"

	"sluice/proxy/fault"
)

const (
	healthInterval = 5 * time.Second
	healthTimeout  = 3 * time.Second
)

var errNotProbed = errors.New("not probed yet")

// Health is a health check of the apiserver: the result of the last periodic probe.
type Health struct {
	upstream *Upstream
	last     atomic.Pointer[probed] // nil before the first probe
	version  atomic.Pointer[version.Info]
	log      *zap.Logger
}

// probed is the result of a probe.
type probed struct {
	err   error
	fault fault.Fault
}

// NewHealth returns the health check of u, which fails until Run has probed the apiserver once.
func NewHealth(u *Upstream, log *zap.Logger) *Health { return &Health{upstream: u, log: log} }

// Run probes the apiserver every healthInterval until ctx ends. It always returns nil. An apiserver that does not answer is asked
// for /livez before it counts as away: flow control of a busy one makes /version wait, but exempts that. A busy one passes the
// check, or all replicas would leave their Service just when the apiserver needs them.
func (h *Health) Run(ctx context.Context) error {
	wait.NonSlidingUntilWithContext(ctx, func(ctx context.Context) {
		began, known := time.Now(), h.upstream.contact.answered.Load() != 0
		err := h.probe(ctx)
		status, answered := errors.AsType[fault.Status](err)
		if err != nil && !answered {
			answered = h.isLive(ctx)
		}
		h.upstream.contact.probed.Store(began.UnixNano())
		h.upstream.contact.silent.Store(err != nil && !answered)
		busy := status == http.StatusTooManyRequests || answered && errors.Is(err, context.DeadlineExceeded)
		if busy && h.Version() != nil {
			err = nil
		}
		h.note(err, known)
	}, healthInterval)
	return nil
}

// Check returns why the last probe failed, or nil if it succeeded. It does not block.
func (h *Health) Check() error {
	if last := h.last.Load(); last != nil {
		return last.err
	}
	return errNotProbed
}

// CheckOpenly is Check for unauthenticated readers: the errors of networks and certificates have names and addresses.
func (h *Health) CheckOpenly() error {
	if err := h.Check(); err == nil || errors.Is(err, errNotProbed) {
		return err
	}
	return errors.New(h.Fault().Says)
}

// Fault returns the fault that the last probe has shown. It does not block.
func (h *Health) Fault() fault.Fault {
	if last := h.last.Load(); last != nil {
		return last.fault
	}
	return fault.Fault{}
}

// note keeps the result of a probe, and logs each change of the fault.
func (h *Health) note(err error, answered bool) {
	f := fault.Of(err, answered)
	switch before := h.Fault(); {
	case f.State != "" && f != before:
		h.log.Warn("the apiserver cannot be used", zap.String("state", f.State), zap.String("do", f.Do), zap.Error(err))
	case f.State == "" && before.State != "":
		h.log.Info("the apiserver can be used again")
	}
	h.last.Store(&probed{err, f})
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
	info, header, err := h.upstream.Version(ctx)
	h.upstream.Clock.observe(header, sent, time.Now())
	if status, answered := errors.AsType[*apierrors.StatusError](err); answered {
		return fault.Status(status.ErrStatus.Code)
	}
	if err == nil {
		h.version.Store(info)
	}
	return err
}

// ErrAway is the error of a request that is not sent, because the apiserver is away.
var ErrAway = errors.New("the apiserver does not answer")

// contact knows whether the apiserver answers.
type contact struct {
	silent   atomic.Bool  // the last probe has had no answer
	probed   atomic.Int64 // when it began, in nanoseconds since 1970
	answered atomic.Int64 // when the apiserver last began a response
}

// Away reports whether the apiserver has answered nothing since the last probe began, which has had no answer. Requests of clients and
// reviews then fail at once with ErrAway instead of waiting, and Sluice's own watches and lists go on trying.
func (u *Upstream) Away() bool {
	return u.contact.silent.Load() && u.contact.answered.Load() < u.contact.probed.Load()
}

// gate notes each response. It sends no request of a caller to an apiserver that is away.
type gate struct {
	http.RoundTripper
	upstream *Upstream
	own      bool // the requests are Sluice's own
}

func (g gate) RoundTrip(r *http.Request) (*http.Response, error) {
	if !g.own && g.upstream.Away() {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, ErrAway
	}
	resp, err := g.RoundTripper.RoundTrip(r)
	if err == nil {
		g.upstream.contact.answered.Store(time.Now().UnixNano())
	}
	return resp, err
}

// WrappedRoundTripper implements utilnet.RoundTripperWrapper.
func (g gate) WrappedRoundTripper() http.RoundTripper { return g.RoundTripper }
