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

// start tells the updates of this run from those of earlier ones on the same directory, which would be no
// change.
var start = time.Now().Unix()

// update changes the next pod at the apiserver.
func (b *bed) update(ctx context.Context) error {
	b.sequence++
	return b.patch(ctx, b.names[b.sequence%len(b.names)], b.sequence)
}

// updateOther changes something that is not a pod.
func (b *bed) updateOther(ctx context.Context) error {
	b.others++
	return b.patch(ctx, "/api/v1/namespaces/"+namespaceName(0), b.others)
}

// patch changes one object.
func (b *bed) patch(ctx context.Context, path string, sequence int) error {
	got, err := b.plane.Raw(user).Do(ctx, harness.Request{
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

// pace does one update after another at the rate and returns when each was acknowledged.
func (b *bed) pace(ctx context.Context, update func(context.Context) error) ([]time.Time, error) {
	ticker := time.NewTicker(time.Second / time.Duration(b.rate))
	defer ticker.Stop()
	acknowledged := make([]time.Time, b.updates)
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

// version is the apiserver's newest resource version.
func (b *bed) version(ctx context.Context) (string, error) {
	list, err := b.plane.Client(user).CoreV1().Pods("").List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return "", err
	}
	return list.ResourceVersion, nil
}

// sample is the frame of an update as the apiserver sends it.
func (b *bed) sample(ctx context.Context, c fanOut) ([]byte, error) {
	version, err := b.version(ctx)
	if err != nil {
		return nil, err
	}
	raw, err := b.apiserver.connection(0)
	if err != nil {
		return nil, err
	}
	w, err := c.openOne(ctx, raw, watchPath(b.apiserver, version), 1)
	if err != nil {
		return nil, err
	}
	defer w.body.Close()
	defer time.AfterFunc(deliverLimit, func() { w.body.Close() }).Stop()
	if err := b.update(ctx); err != nil {
		return nil, err
	}
	return c.frame(w.body)
}

// frame reads one frame.
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
