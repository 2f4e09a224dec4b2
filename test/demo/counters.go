package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"sluice/test/harness"
)

const (
	// refresh is the time between two updates of the counters.
	refresh = 2 * time.Second

	// Numbers of lists by which the cost of one is measured: CPU time is counted in hundredths of a second.
	listsOfSluice    = 200
	listsOfApiserver = 10

	cpuSeconds  = "process_cpu_seconds_total"
	memoryBytes = "process_resident_memory_bytes"
)

// english formats numbers with separators: 12,345.
var english = message.NewPrinter(language.English)

// metrics returns the metrics of Sluice and of the apiserver.
func (d *demo) metrics(ctx context.Context) (both [2]harness.Metrics, err error) {
	var failed error
	both[0], err = d.sluice.Metrics()
	both[1], failed = d.plane.Metrics(ctx, cpuSeconds, memoryBytes)
	return both, errors.Join(err, failed)
}

// measureCosts lists all pods from both servers, while nobody else lists or changes any.
func (d *demo) measureCosts(ctx context.Context) error {
	for i, server := range []*harness.RawClient{d.sluice.Raw("admin"), d.plane.Raw("admin")} {
		lists := []int{listsOfSluice, listsOfApiserver}[i]
		if err := listPods(ctx, server, 1); err != nil { // which prepares the others
			return err
		}
		before, err := d.metrics(ctx)
		if err != nil {
			return err
		}
		if err := listPods(ctx, server, lists); err != nil {
			return err
		}
		after, err := d.metrics(ctx)
		if err != nil {
			return err
		}
		d.costs[i] = (after[i].Sum(cpuSeconds) - before[i].Sum(cpuSeconds)) / float64(lists) * 1000
	}
	return nil
}

func listPods(ctx context.Context, server *harness.RawClient, times int) error {
	for range times {
		list, err := server.Do(ctx, podList)
		if err == nil && list.Status != http.StatusOK {
			err = fmt.Errorf("list of all pods: %d: %s", list.Status, list.Body)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// counters returns a table: what clients ask of Sluice, beside what Sluice asks of the apiserver for it.
func (d *demo) counters(ctx context.Context) (string, error) {
	m, err := d.metrics(ctx)
	if err != nil {
		return "", err
	}
	table := fmt.Sprintf("%-26s %12s %12s", "", "Sluice", "apiserver")
	for _, row := range []struct {
		name              string
		sluice, apiserver float64
		format            string
	}{
		{"requests", m[0].Sum("sluice_request_total"), m[0].Sum("sluice_upstream_requests_total"), "%.0f"},
		{"open watches", m[0].Sum("sluice_watchers"), m[0].Sum("sluice_upstream_watches"), "%.0f"},
		{"events", m[0].Sum("sluice_watch_events_total"), m[0].Sum("sluice_store_received_total"), "%.0f"},
		{"CPU for a list of all pods", d.costs[0], d.costs[1], "%.1f ms"},
		{"memory", m[0].Sum(memoryBytes) / 1e6, m[1].Sum(memoryBytes) / 1e6, "%.0f MB"},
	} {
		table += fmt.Sprintf("\n%-26s %12s %12s", row.name, english.Sprintf(row.format, row.sluice), english.Sprintf(row.format, row.apiserver))
	}
	return table, nil
}

// showCounters prints the counters until the context or a server ends. On a terminal each table replaces the one before.
func (d *demo) showCounters(ctx context.Context) error {
	replace := ""
	for tick := time.NewTicker(refresh); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-d.plane.Done():
			return fmt.Errorf("the control plane exited\n%s", d.plane.Logs())
		case <-d.sluice.Done():
			return fmt.Errorf("the gateway exited\n%s", d.sluice.Log())
		case <-tick.C:
		}
		table, err := d.counters(ctx)
		if err != nil {
			continue // a server that has exited ends the demo
		}
		fmt.Println(replace + table)
		if term.IsTerminal(int(os.Stdout.Fd())) {
			replace = fmt.Sprintf("\x1b[%dA\x1b[J", strings.Count(table, "\n")+1)
		}
	}
}
