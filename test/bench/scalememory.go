package main

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"net/http"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"sluice/test/harness"
)

// scaleOfMemory measures the memory of Sluice in sync and after lists, and streaming lists, in every format.
func scaleOfMemory(ctx context.Context, o *options, r *scaleReport) error {
	for _, p := range []population{scaledPods(max(1, o.pods/10)), reports(o.reports)} {
		if !o.only.matches(p.resource) {
			continue
		}
		if err := memoryOf(ctx, o, p, r); err != nil {
			return fmt.Errorf("%s: %w", p.resource, err)
		}
	}
	return nil
}

func memoryOf(ctx context.Context, o *options, p population, r *scaleReport) error {
	e, err := newScaleEnv(ctx, o, scaleMemory+"-"+p.resource, p)
	defer e.close()
	if err != nil {
		return err
	}
	line, err := e.sync(ctx, p)
	if err != nil {
		return err
	}
	r.Syncs = append(r.Syncs, line)
	add := func(after string, text int64) error {
		if err := sleep(ctx, e.idle); err != nil {
			return err
		}
		l := &memoryLine{Resource: p.resource, Objects: p.count, After: after, JSON: text}
		if l.Resident, err = e.sluiceTarget.proc.resident(); err != nil {
			return err
		}
		if l.Peak, err = e.sluiceTarget.proc.peak(); err != nil {
			return err
		}
		l.Kinds, err = e.memoryKinds()
		r.Memory = append(r.Memory, l)
		return err
	}
	if err := e.sluiceTarget.proc.resetPeak(); err != nil {
		return err
	}
	if err := add("sync", line.Data); err != nil {
		return err
	}
	raw, err := e.sluiceTarget.connection(0)
	if err != nil {
		return err
	}
	var text int64
	for _, coding := range []string{identity, "gzip", "zstd"} {
		for _, f := range formats {
			if p.prepare != nil && f.accept == protobufType {
				continue // custom resources do not have it
			}
			header := listCase{format: f, encoding: coding}.header()
			n, err := listOnce(ctx, raw, p.path+"?resourceVersion=0", header)
			if err != nil {
				return fmt.Errorf("%s %s: %w", f.name, coding, err)
			}
			if text == 0 {
				text = n
			}
			if f.frames != nil && coding != "zstd" {
				header := listCase{format: f, encoding: coding, streaming: true}.header()
				if err := streamOnce(ctx, raw, p, f, header); err != nil {
					return fmt.Errorf("stream %s %s: %w", f.name, coding, err)
				}
			}
		}
		if err := add("all formats, "+coding, text); err != nil {
			return err
		}
	}
	return nil
}

// streamOnce reads the initial events of a streaming list.
func streamOnce(ctx context.Context, raw *harness.RawClient, p population, f format, header http.Header) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	resp, err := raw.Open(ctx, harness.Request{Path: p.path + "?" + streamingQuery + "&resourceVersion=0", Header: header})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s", resp.Status)
	}
	in, release, err := decompress(resp.Body, codingOf(resp.Header))
	if err != nil {
		return err
	}
	defer release()
	return readFrames(in, f.frames(), p.count)
}

// memoryKinds returns Sluice's memory by kind, in bytes.
func (e *scaleEnv) memoryKinds() (map[string]float64, error) {
	m, err := e.sluice.Metrics()
	if err != nil {
		return nil, err
	}
	kinds := map[string]float64{}
	for _, s := range m.Samples("sluice_memory_bytes") {
		kinds[s.Labels["kind"]] = s.Value
	}
	return kinds, nil
}

// reports are custom resources of 1.3 MB, as scanners write them.
func reports(n int) population {
	return population{
		resource: "reports", path: "/apis/bench.sluice.dev/v1/reports", prefix: "/registry/bench.sluice.dev/reports/", count: n,
		prepare: defineReports,
		objects: func(yield func(string, runtime.Object) bool) {
			r := rand.New(rand.NewPCG(2, 2))
			for i := range n {
				name := fmt.Sprintf("report-%04d", i)
				text := slices.Collect(findings(r))
				if !yield("default/"+name, &runtime.Unknown{Raw: fmt.Appendf(nil,
					`{"apiVersion":"bench.sluice.dev/v1","kind":"Report","metadata":{"name":%q,"namespace":"default",`+
						`"uid":"00000000-0000-4000-b000-%012d","creationTimestamp":"2026-03-01T08:00:00Z","generation":1},"findings":[%s]}`,
					name, i, slices.Concat(text...))}) {
					return
				}
			}
		},
	}
}

// findings yields 1.3 MB of the findings of a report.
func findings(r *rand.Rand) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		separator := ""
		for size := 0; size < 1_300_000; {
			f := fmt.Appendf(nil, `%s{"id":"CVE-20%02d-%05d","severity":%q,"installed":"%d.%d.%d-r%d","fixed":"%d.%d.%d","score":%d.%d,`+
				`"title":"a flaw in the parser of %08x lets a remote sender of a crafted file read memory","link":"https://example.com/advisories/%016x"}`,
				separator, r.IntN(26), r.IntN(100_000), []string{"LOW", "MEDIUM", "HIGH", "CRITICAL"}[r.IntN(4)], r.IntN(9), r.IntN(30), r.IntN(30), r.IntN(5),
				r.IntN(9), r.IntN(30), r.IntN(30), r.IntN(10), r.IntN(10), r.Uint32(), r.Uint64())
			size, separator = size+len(f), ","
			if !yield(f) {
				return
			}
		}
	}
}

// reportsDefinition is the CRD of the reports.
const reportsDefinition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"reports.bench.sluice.dev"},` +
	`"spec":{"group":"bench.sluice.dev","scope":"Namespaced","names":{"plural":"reports","singular":"report","kind":"Report","listKind":"ReportList"},` +
	`"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`

// defineReports creates the CRD and waits until the apiserver serves it.
func defineReports(ctx context.Context, c *harness.ControlPlane) error {
	raw := c.Raw(user)
	got, err := raw.Do(ctx, harness.Request{
		Method: http.MethodPost, Path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
		Header: http.Header{"Content-Type": {jsonType}}, Body: []byte(reportsDefinition),
	})
	if err != nil {
		return err
	}
	if got.Status != http.StatusCreated && got.Status != http.StatusConflict {
		return fmt.Errorf("%d: %.200s", got.Status, got.Body)
	}
	for {
		got, err := raw.Get(ctx, "/apis/bench.sluice.dev/v1/reports?limit=1", jsonType)
		if err != nil || got.Status == http.StatusOK {
			return err
		}
		if err := sleep(ctx, settle); err != nil {
			return err
		}
	}
}
