package upstream

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"
)

const (
	healthEvery   = 5 * time.Second
	healthTimeout = 3 * time.Second
)

// Health knows whether the upstream answers.
type Health struct {
	upstream *Upstream
	state    atomic.Pointer[error] // of the last probe; nil before the first
}

// NewHealth returns the health of u, unknown until Run has probed.
func NewHealth(u *Upstream) *Health { return &Health{upstream: u} }

// Run probes the upstream until the context ends.
func (h *Health) Run(ctx context.Context) error {
	t := time.NewTicker(healthEvery)
	defer t.Stop()
	for {
		err := h.probe(ctx)
		h.state.Store(&err)
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
	}
}

// Check returns why the upstream is not well, nil if it is.
func (h *Health) Check() error {
	if state := h.state.Load(); state != nil {
		return *state
	}
	return fmt.Errorf("not probed yet")
}

// probe asks for the version, which any apiserver tells any caller that it
// knows.
func (h *Health) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	target := h.upstream.Resolve(&url.URL{Path: "/version"}, "")
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return err
	}
	resp, err := h.upstream.Self.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so that the connection can be used again
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("upstream answers %d", resp.StatusCode)
	}
	return nil
}
