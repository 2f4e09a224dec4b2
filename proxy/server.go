package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"go.uber.org/zap"

	"sluice/proxy/limits"
)

// cutTimeout is how long handlers have to return after their requests were cut.
const cutTimeout = 5 * time.Second

// Serve serves the API over TLS on l, and closes l. The config must have the protocols. When ctx ends it drains, as
// shutdown describes, for at most the delay and the grace of the configuration and five seconds. It returns nil after a
// drain, whether requests had to be cut or not.
func (g *Gateway) Serve(ctx context.Context, l net.Listener, config *tls.Config) error {
	base, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	shared := limits.Listen(l, limits.ListenerOptions{
		TLS: config, Memory: g.options.Memory,
		Failed: g.options.Handshakes.Failed("api", g.options.Log.Named("http")),
	})
	defer shared.Close()
	before := g.newGeneration(base, shared, config)
	select {
	case err := <-before.failed:
		return fmt.Errorf("API listener: %w", err)
	case <-ctx.Done():
	}
	time.Sleep(g.options.Config.Shutdown.Delay.Duration)
	after := g.newGeneration(base, shared, config)
	g.shutdown(shared, before, after, cut)
	for _, s := range []*generation{before, after} {
		if err := <-s.failed; !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			return fmt.Errorf("API listener: %w", err)
		}
	}
	return nil
}

// shutdown stops the gateway in order. The API is available as long as possible, because there may be
// no other gateway, and then not for longer than necessary:
//
//  1. GOAWAY tells the clients of the connections before to make new ones, elsewhere or here. The requests
//     that run on them, upgraded connections included, finish.
//  2. The watches end, whether they are served or pass; new ones are refused.
//  3. The listener closes, and the requests that remain finish.
//
// After the grace period cut cancels the remaining requests.
func (g *Gateway) shutdown(l *limits.Listener, before, after *generation, cut context.CancelFunc) {
	limit := g.options.Config.Shutdown.Grace.Duration
	grace, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	go before.drain(grace)
	g.awaitFor(grace, &before.requests, max(limit-g.spread()-watchEnd, limit/2))
	spread := g.spread()
	close(g.draining)
	g.awaitFor(grace, &g.watches, spread+watchEnd)
	_ = l.Close()
	var drained sync.WaitGroup
	drained.Go(func() { before.end(grace) })
	drained.Go(func() { after.end(grace) })
	drained.Wait()
	err := g.requests.wait(grace)
	cut()
	if err != nil {
		g.options.Log.Info("requests cut after grace period", zap.Error(err))
		_, _ = before.Close(), after.Close()
	}
	last, done := context.WithTimeout(context.Background(), cutTimeout)
	defer done()
	_ = g.requests.wait(last)
}

// awaitFor waits until nothing of r runs, at most for a time.
func (g *Gateway) awaitFor(ctx context.Context, r *running, limit time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	_ = r.wait(ctx)
}
