package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"sluice/test/harness"
)

// podList is a list of all pods, as an informer or a dashboard sends it.
var podList = harness.Request{
	Path:   "/api/v1/pods?resourceVersion=0",
	Header: http.Header{"Accept": {"application/json"}, "Accept-Encoding": {"gzip"}},
}

// Numbers of lists by which the cost of one is measured: CPU time is counted in hundredths of a second.
const (
	listsOfSluice    = 200
	listsOfApiserver = 10
)

// costs are the CPU times that a list of all pods costs the two servers.
type costs struct{ sluice, apiserver time.Duration }

// measureCosts lists all pods from both servers, while nobody else lists or changes any.
func (d *demo) measureCosts(ctx context.Context) (c costs, err error) {
	done := d.step("Listing all pods %d times from the apiserver, %d times from Sluice", listsOfApiserver, listsOfSluice)
	if c.apiserver, err = costOf(ctx, d.plane.Raw("admin"), d.apiserverMetrics, listsOfApiserver); err != nil {
		return c, fmt.Errorf("lists from the apiserver: %w", err)
	}
	sluiceMetrics := func(context.Context) (harness.Metrics, error) { return d.sluice.Metrics() }
	if c.sluice, err = costOf(ctx, d.sluice.Raw("admin"), sluiceMetrics, listsOfSluice); err != nil {
		return c, fmt.Errorf("lists from Sluice: %w", err)
	}
	done()
	return c, nil
}

// costOf returns the CPU time of a server for one of n lists, without the first, which prepares the others.
func costOf(ctx context.Context, server *harness.RawClient, metrics func(context.Context) (harness.Metrics, error), n int) (time.Duration, error) {
	var before harness.Metrics
	for i := range n + 1 {
		list, err := server.Do(ctx, podList)
		if err == nil && list.Status != http.StatusOK {
			err = fmt.Errorf("status %d", list.Status)
		}
		if err == nil && i == 0 {
			before, err = metrics(ctx)
		}
		if err != nil {
			return 0, err
		}
	}
	after, err := metrics(ctx)
	if err != nil {
		return 0, err
	}
	return time.Duration((after.Sum(cpuSeconds) - before.Sum(cpuSeconds)) / float64(n) * float64(time.Second)), nil
}

func (d *demo) apiserverMetrics(ctx context.Context) (harness.Metrics, error) {
	return d.plane.Metrics(ctx, cpuSeconds, memoryBytes)
}
