package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sluice/test/harness"
)

// scaleOfMemory measures the memory of Sluice in sync and after lists, and streaming lists, in every format.
func scaleOfMemory(ctx context.Context, w *world, r *report) {
	w.cached.proc.resetPeak()
	w.addMemory(ctx, r, "sync", r.Rows[len(r.Rows)-1].of(sluiceName).Bytes)
	raw := w.cached.connection(0)
	var text float64 // the length of a list as JSON
	for _, coding := range []string{identity, "gzip", "zstd"} {
		for _, f := range formats {
			if w.pods.custom && f.accept == protobufType {
				continue
			}
			progress("%s %s", f.name, coding)
			a := query{path: w.pods.path + "?resourceVersion=0", header: accepting(f.accept, coding)}.ask(ctx, raw)
			if text == 0 {
				text = float64(a.bytes)
			}
			if f.frames != nil && coding != "zstd" {
				query{
					path: w.pods.path + "?" + streamingQuery + "&resourceVersion=0", header: accepting(f.watch, coding),
					frames: f.frames, objects: w.pods.count,
				}.ask(ctx, raw)
			}
		}
		w.addMemory(ctx, r, "all formats, "+coding, text)
	}
}

// addMemory adds a row with Sluice's memory, in all and by kind, after a pause.
func (w *world) addMemory(ctx context.Context, r *report, after string, text float64) {
	sleep(ctx, w.idle)
	f := &figures{Bytes: text, RSS: w.cached.proc.resident(), Peak: w.cached.proc.peak()}
	f.Counts = tallyOf(must(w.cached.sluice.Metrics()), "sluice_memory_bytes", "kind")
	row := newRow(memoryTable, w.pods.String())
	row.What, row.Target, row.By[sluiceName] = after, sluiceName, f
	r.add(row)
}

// reports are custom resources of 1.3 MB, as scanners write them.
func reports(n int) population {
	return population{
		resource: "reports", path: "/apis/bench.sluice.dev/v1/reports", prefix: "/registry/bench.sluice.dev/reports/", count: n,
		prepare: defineReports, custom: true,
		objects: func(yield func(string, runtime.Object) bool) {
			r := rand.New(rand.NewPCG(2, 2))
			for i := range n {
				name := fmt.Sprintf("report-%04d", i)
				if !yield("default/"+name, &runtime.Unknown{Raw: fmt.Appendf(nil,
					`{"apiVersion":"bench.sluice.dev/v1","kind":"Report","metadata":{"name":%q,"namespace":"default",`+
						`"uid":"00000000-0000-4000-b000-%012d","creationTimestamp":"2026-03-01T08:00:00Z","generation":1},"findings":[%s]}`,
					name, i, findings(r))}) {
					return
				}
			}
		},
	}
}

// findings returns 1.3 MB of the findings of a report.
func findings(r *rand.Rand) []byte {
	var b bytes.Buffer
	for separator := ""; b.Len() < 1_300_000; separator = "," {
		fmt.Fprintf(&b, `%s{"id":"CVE-20%02d-%05d","severity":%q,"installed":"%d.%d.%d-r%d","fixed":"%d.%d.%d","score":%d.%d,`+
			`"title":"a flaw in the parser of %08x lets a remote sender of a crafted file read memory",`+
			`"link":"https://example.com/advisories/%016x"}`,
			separator, r.IntN(26), r.IntN(100_000), []string{"LOW", "MEDIUM", "HIGH", "CRITICAL"}[r.IntN(4)],
			r.IntN(9), r.IntN(30), r.IntN(30), r.IntN(5),
			r.IntN(9), r.IntN(30), r.IntN(30), r.IntN(10), r.IntN(10), r.Uint32(), r.Uint64())
	}
	return b.Bytes()
}

// defineReports creates the CRD of the reports and waits until the apiserver serves it.
func defineReports(ctx context.Context, c *harness.ControlPlane) {
	reports := schema.GroupVersionResource{Group: "bench.sluice.dev", Version: "v1", Resource: "reports"}
	define(ctx, c, reports, "Report", "Namespaced")
	for must(c.Raw(user).Get(ctx, "/apis/bench.sluice.dev/v1/reports?limit=1", jsonType)).Status != http.StatusOK {
		sleep(ctx, settle)
	}
}
