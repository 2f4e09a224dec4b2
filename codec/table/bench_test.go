package table_test

import (
	"encoding/json"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	sjson "sluice/codec/json"
	"sluice/codec/table"
	"sluice/test/harness"
	"sluice/test/support/codectest"
)

var benchNow = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// samplePods returns realistic pods in the apiserver's JSON.
func samplePods(tb testing.TB, n int) []sjson.Value {
	tb.Helper()
	values := make([]sjson.Value, n)
	for i, p := range harness.Pods(n, "shop", 1) {
		values[i] = sjson.Value(marshal(tb, p))
	}
	return values
}

func marshal(tb testing.TB, o runtime.Object) []byte {
	tb.Helper()
	b, err := json.Marshal(o)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// widgetColumns returns the usual columns of a CRD whose paths are plain member paths.
func widgetColumns(tb testing.TB) *table.Columns {
	tb.Helper()
	c, err := table.Custom([]table.PrinterColumn{
		{Name: "Node", Type: "string", JSONPath: ".spec.nodeName"},
		{Name: "Phase", Type: "string", JSONPath: ".status.phase"},
		{Name: "Grace", Type: "integer", JSONPath: ".spec.terminationGracePeriodSeconds"},
		{Name: "Age", Type: "date", JSONPath: ".metadata.creationTimestamp"},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func benchmarkCells(b *testing.B, c *table.Columns) {
	pods := samplePods(b, 200)
	size := 0
	for _, p := range pods {
		size += len(p)
	}
	var dst []byte
	b.SetBytes(int64(size / len(pods)))
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		var err error
		if dst, err = c.AppendCells(dst[:0], pods[i%len(pods)], benchNow); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

func BenchmarkPods(b *testing.B) {
	benchmarkCells(b, codectest.PodColumns())
}

func BenchmarkDefault(b *testing.B) { benchmarkCells(b, table.Default()) }

func BenchmarkCustom(b *testing.B) { benchmarkCells(b, widgetColumns(b)) }

// BenchmarkCustomJSONPath prints columns that client-go evaluates.
func BenchmarkCustomJSONPath(b *testing.B) {
	c, err := table.Custom([]table.PrinterColumn{
		{Name: "Node", Type: "string", JSONPath: ".spec.nodeName"},
		{Name: "Ready", Type: "string", JSONPath: `.status.conditions[?(@.type=="Ready")].status`},
		{Name: "First", Type: "string", JSONPath: ".spec.containers[0].name"},
		{Name: "Age", Type: "date", JSONPath: ".metadata.creationTimestamp"},
	})
	if err != nil {
		b.Fatal(err)
	}
	benchmarkCells(b, c)
}
