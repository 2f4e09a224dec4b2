package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"k8s.io/client-go/rest"
)

// scaleOfWatches measures the delay of events at many watches, all of which read, and then while some
// more do not.
func scaleOfWatches(ctx context.Context, o *options, r *scaleReport) error {
	pods := scaledPods(min(o.pods, perNamespace))
	e, err := newScaleEnv(ctx, o, scaleWatches, pods)
	defer e.close()
	if err != nil {
		return err
	}
	if _, err := e.sync(ctx, pods); err != nil {
		return err
	}
	for _, n := range o.watchers {
		for _, t := range e.targets() {
			line, err := e.watchesAt(ctx, t, n)
			if err != nil {
				return fmt.Errorf("%s, %d watches: %w", t.name, n, err)
			}
			r.Watches = append(r.Watches, line)
			t.close()
		}
	}
	return nil
}

// watchesAt measures n watches at a target, of which e.stalled do not read in the second measurement.
func (e *scaleEnv) watchesAt(ctx context.Context, t *target, n int) (*watchesLine, error) {
	line := &watchesLine{Target: t.name, Watches: n, Stalled: e.stalled, Updates: e.updates}
	m, err := newMeter(e.background, e.targets()...)
	if err != nil {
		return nil, err
	}
	for _, stalled := range []int{0, e.stalled} {
		progress("%d watches at the %s, of which %d do not read", n, t.name, stalled)
		f, err := e.delays(ctx, t, n-stalled, stalled)
		if err != nil {
			return nil, err
		}
		if stalled == 0 {
			line.Without = f
		} else {
			line.With = f
		}
	}
	used, err := m.read()
	line.Peak = used.peak[t.name]
	return line, err
}

// delays opens watches, updates pods one after the other, each once all watches that read have received the
// one before, and returns the delays of the events.
func (e *scaleEnv) delays(ctx context.Context, t *target, reading, stalled int) (*delayFigures, error) {
	version, err := currentVersion(ctx, e.controlPlane)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := e.openStalled(ctx, t, version, stalled); err != nil {
		return nil, err
	}
	c := fanOut{formatOf("json"), identity, reading}
	w, err := c.open(ctx, t, version, e.updates)
	if err != nil {
		return nil, err
	}
	defer w.close()
	if err := sleep(ctx, settle); err != nil {
		return nil, err
	}
	m, err := newMeter(e.background, e.targets()...)
	if err != nil {
		return nil, err
	}
	var acknowledged []time.Time
	pods := e.updated()
	for i := range e.updates {
		if err := e.updatePod(ctx, pods[i%len(pods)], i); err != nil {
			return nil, err
		}
		acknowledged = append(acknowledged, time.Now())
		if err := w.wait(ctx, i+1); err != nil {
			return nil, err
		}
	}
	used, err := m.read()
	if err != nil {
		return nil, err
	}
	delays := w.delays(acknowledged)
	return &delayFigures{
		P50: percentile(delays, 50).Seconds(), P99: percentile(delays, 99).Seconds(),
		CPU: used.cpu[t.name].Seconds() / float64(len(delays)),
	}, nil
}

// wait waits until each watch has received n events.
func (w *watchers) wait(ctx context.Context, n int) error {
	for limit := time.Now().Add(deliverLimit); ; {
		missing := slices.IndexFunc(w.watchers, func(one *watcher) bool { return one.n.Load() < int64(n) })
		if missing < 0 {
			return nil
		}
		if time.Now().After(limit) {
			return fmt.Errorf("watch %d has received %d events of %d", missing, w.watchers[missing].n.Load(), n)
		}
		if err := sleep(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
}

// openStalled opens watches that never read, until ctx ends.
func (e *scaleEnv) openStalled(ctx context.Context, t *target, version string, n int) error {
	for first := 0; first < n; first += streams {
		client, err := narrowClient(t.config)
		if err != nil {
			return err
		}
		context.AfterFunc(ctx, client.CloseIdleConnections)
		for range min(streams, n-first) {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.config.Host+watchPath(t, version), nil)
			if err != nil {
				return err
			}
			req.Header.Set("Authorization", "Bearer "+t.config.BearerToken)
			req.Header.Set("Accept", jsonType)
			resp, err := client.Do(req)
			if err != nil {
				return err
			}
			context.AfterFunc(ctx, func() { resp.Body.Close() })
			if resp.StatusCode != http.StatusOK {
				return fmt.Errorf("watch: %s", resp.Status)
			}
		}
	}
	return nil
}

// narrowWindow is how many bytes of a response a client takes that does not read it: less than ten events
// of a pod.
const narrowWindow = 64 << 10

// narrowClient returns a client whose flow control stops a server soon after its caller stops to read.
func narrowClient(config *rest.Config) (*http.Client, error) {
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, err
	}
	t := &http.Transport{
		TLSClientConfig: tlsConfig, DisableCompression: true, Protocols: new(http.Protocols),
		HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: narrowWindow},
	}
	t.Protocols.SetHTTP2(true)
	return &http.Client{Transport: t}, nil
}
