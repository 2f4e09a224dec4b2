package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/test/harness"
)

// start makes the updates of this run differ from an earlier run's on the same directory, so that
// each is a change.
var start = time.Now().Unix()

// update changes the next pod at the apiserver.
func (e *env) update(ctx context.Context) error {
	e.sequence++
	return e.patch(ctx, e.names[e.sequence%len(e.names)], e.sequence)
}

// updateOther changes a namespace.
func (e *env) updateOther(ctx context.Context) error {
	e.others++
	return e.patch(ctx, "/api/v1/namespaces/"+namespaceName(0), e.others)
}

// patch changes one object.
func (e *env) patch(ctx context.Context, path string, sequence int) error {
	return patch(ctx, e.controlPlane, path, sequence)
}

func patch(ctx context.Context, c *harness.ControlPlane, path string, sequence int) error {
	got, err := c.Raw(user).Do(ctx, harness.Request{
		Method: http.MethodPatch,
		Path:   path + "?fieldManager=bench",
		Header: http.Header{"Content-Type": {"application/merge-patch+json"}, "Accept": {"application/vnd.kubernetes.protobuf"}},
		Body:   fmt.Appendf(nil, `{"metadata":{"annotations":{"bench/sequence":"%d-%06d"}}}`, start, sequence),
	})
	if err == nil && got.Status != http.StatusOK {
		err = fmt.Errorf("update: %d: %.200s", got.Status, got.Body)
	}
	return err
}

// pace sends the updates of a fan-out at its rate and returns the time of each acknowledgement.
func (e *env) pace(ctx context.Context, update func(context.Context) error) ([]time.Time, error) {
	return pace(ctx, e.rate, e.updates, update)
}

func pace(ctx context.Context, rate, updates int, update func(context.Context) error) ([]time.Time, error) {
	ticker := time.NewTicker(time.Second / time.Duration(rate))
	defer ticker.Stop()
	acknowledged := make([]time.Time, updates)
	for i := range acknowledged {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if err := update(ctx); err != nil {
			return nil, err
		}
		acknowledged[i] = time.Now()
	}
	return acknowledged, nil
}

// version returns the apiserver's current resource version.
func (e *env) version(ctx context.Context) (string, error) {
	return currentVersion(ctx, e.controlPlane)
}

func currentVersion(ctx context.Context, c *harness.ControlPlane) (string, error) {
	list, err := c.Client(user).CoreV1().Pods("").List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return "", err
	}
	return list.ResourceVersion, nil
}

// sample returns the frame of an update as the apiserver sends it.
func (e *env) sample(ctx context.Context, c fanOut) ([]byte, error) {
	version, err := e.version(ctx)
	if err != nil {
		return nil, err
	}
	raw, err := e.apiserver.connection(0)
	if err != nil {
		return nil, err
	}
	c.encoding = identity
	w, err := c.openOne(ctx, raw, watchPath(e.apiserver, version), 1)
	if err != nil {
		return nil, err
	}
	defer w.body.Close()
	defer time.AfterFunc(deliverLimit, func() { w.body.Close() }).Stop()
	if err := e.update(ctx); err != nil {
		return nil, err
	}
	return c.frame(&w.body)
}

// frame reads and returns one frame.
func (c fanOut) frame(r io.Reader) ([]byte, error) {
	frames, buf := c.frames(), []byte{}
	for {
		var one [1]byte
		if _, err := io.ReadFull(r, one[:]); err != nil {
			return nil, err
		}
		buf = append(buf, one[0])
		if frames.count(one[:]) == 1 {
			return buf, nil
		}
	}
}
