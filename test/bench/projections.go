package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// informing is clients that hold some fields of all pods.
type informing struct {
	format
	fields     string // the name of the client that needs them
	parameters string // of the media type
	events     int    // of a watch, for each heartbeat
}

// fieldSets are the fields of pods that clients need, as parameters of a media type. Heartbeats change the conditions of pods.
var fieldSets = []informing{
	{fields: "whole", events: 1},
	{fields: "kube-state-metrics", events: 1, parameters: ";keep=metadata.annotations+metadata.ownerReferences+spec.nodeName" +
		"+spec.hostNetwork+spec.serviceAccountName+spec.restartPolicy+spec.priorityClassName+spec.nodeSelector+spec.tolerations" +
		"+spec.containers[*].name+spec.containers[*].image+spec.containers[*].resources" +
		"+spec.initContainers[*].name+spec.initContainers[*].image+spec.volumes[*].name+spec.volumes[*].persistentVolumeClaim+status"},
	{fields: "CNI agent", events: 1, parameters: cniFields},
	{fields: "CNI agent, quiet", parameters: cniFields + ";quiet=1"},
	{fields: "scheduler extender", events: 1, parameters: extenderFields},
	{fields: "scheduler extender, quiet", parameters: extenderFields + ";quiet=1"},
}

const (
	cniFields = ";keep=metadata.annotations+spec.nodeName+spec.hostNetwork+spec.serviceAccountName" +
		"+spec.containers[*].name+spec.containers[*].ports+status.phase+status.hostIP+status.podIPs"
	extenderFields = ";keep=spec.nodeName+spec.priority+spec.containers[*].resources+status.phase"

	blockBytes = 2 << 20 // of the plot

	// memoized is how many lists follow the first one.
	memoized = 20
)

// projections measures informers of client-go, and many watches, with the fields of each client.
func (w *world) projections(ctx context.Context, r *report) {
	for _, name := range []string{"protobuf", "json"} {
		for _, c := range fieldSets {
			c.format = formatOf(name)
			c.accept, c.watch = c.accept+c.parameters, c.watch+c.parameters
			row := newRow(projectionTable, name+" "+c.fields)
			if w.only.MatchString(row.Case) {
				progress("%s", row.Case)
				row.Objects, row.Clients = w.pods.count, w.watchers
				row.By[listed] = c.lists(ctx, w)
				row.By[holding] = c.informs(ctx, w)
				row.By[updateName] = c.watches(ctx, w)
				r.add(row)
			}
		}
	}
}

// lists measures the first list and later ones.
func (c informing) lists(ctx context.Context, w *world) *figures {
	q := query{path: "/api/v1/pods?resourceVersion=0", header: http.Header{"Accept": {c.accept}}}
	m := w.meter()
	got := q.ask(ctx, w.cached.connection(0))
	f := &figures{First: m.read().cpu[sluiceName].Seconds(), Bytes: float64(got.bytes), Requests: memoized}
	m = w.meter()
	for range memoized {
		q.ask(ctx, w.cached.connection(0))
	}
	f.CPU = m.read().cpu[sluiceName].Seconds() / memoized
	return f
}

// informs measures one informer of client-go with its default settings, until it holds all pods.
func (c informing) informs(ctx context.Context, w *world) *figures {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	config := w.cached.sluice.RESTConfig(user)
	config.AcceptContentTypes, config.ContentType = c.accept, jsonType
	received, dialer := atomic.Int64{}, net.Dialer{}
	config.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, address)
		return countedConn{conn, &received}, err
	}
	before := liveHeap()
	m := w.meter()
	factory := informers.NewSharedInformerFactory(must(kubernetes.NewForConfig(config)), 0)
	pods := factory.Core().V1().Pods().Informer()
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), pods.HasSynced) || len(pods.GetStore().ListKeys()) != w.pods.count {
		check(fmt.Errorf("an informer has %d pods: %w", len(pods.GetStore().ListKeys()), ctx.Err()))
	}
	f := &figures{Client: m.read().client.Seconds(), Bytes: float64(received.Load()), RSS: liveHeap() - before}
	cancel()
	factory.Shutdown()
	return f
}

// watches measures many watches, while heartbeats change the conditions of pods and in the end one label changes.
func (c informing) watches(ctx context.Context, w *world) *figures {
	heartbeats := w.updates - 1
	events := c.events*heartbeats + 1
	watching := watching{format: c.format, encoding: identity, watchers: w.watchers}
	got := watching.deliver(ctx, w, w.cached, events, func(*watchers) []time.Time {
		pace(ctx, w.rate, heartbeats, w.beat)
		pod := w.paths[w.sequence.Add(1)%int64(len(w.paths))]
		w.change(ctx, pod, mergePatch, fmt.Appendf(nil, `{"metadata":{"labels":{"bench":"%d"}}}`, w.sequence.Load()))
		return make([]time.Time, events)
	})
	n := float64(w.updates * w.watchers)
	return &figures{
		Requests: events, Bytes: float64(got.bytes) / n, CPU: got.cpu[sluiceName].Seconds() / n, Client: got.client.Seconds() / n,
		Peak: got.peak[sluiceName],
	}
}

// beat changes a condition of the next pod, as its kubelet does.
func (w *world) beat(ctx context.Context) {
	n := w.sequence.Add(1)
	w.change(ctx, w.paths[n%int64(len(w.paths))]+"/status", "application/strategic-merge-patch+json", fmt.Appendf(nil,
		`{"status":{"conditions":[{"type":"Ready","status":"True","message":"%06d"}]}}`, n))
}

// liveHeap returns the memory of the objects of this process that are in use, in bytes.
func liveHeap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// countedConn counts the bytes that are received.
type countedConn struct {
	net.Conn
	received *atomic.Int64
}

func (c countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.received.Add(int64(n))
	return n, err
}

func projectionCells(r *row) []string {
	list, informer, update := r.of(listed), r.of(holding), r.of(updateName)
	return []string{
		r.Case, fmt.Sprintf("%.1f", list.Bytes/1e6), millis(list.First), millis(list.CPU),
		fmt.Sprintf("%.1f", informer.Bytes/1e6), megabytes(informer.RSS), millis(informer.Client),
		fmt.Sprint(update.Requests), fmt.Sprintf("%.0f", update.Bytes), micros(update.CPU), micros(update.Client), megabytes(update.Peak),
		strings.Repeat("█", int(max(0, informer.RSS)/blockBytes)),
	}
}
