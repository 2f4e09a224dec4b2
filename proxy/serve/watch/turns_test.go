package watch

import (
	"context"
	"errors"
	"net/http/httptest"
	"testing"

	"sluice/codec/negotiate"
	"sluice/codec/splice"
	"sluice/proxy/flowcontrol"
	"sluice/proxy/limits"
	"sluice/proxy/request"
	"sluice/proxy/serve/body"
	"sluice/proxy/serve/fresh"
	"sluice/proxy/serve/plan"
)

// head returns the head of a watch that sets no headers.
func head() fresh.Head {
	return fresh.Head{Plan: &plan.Plan{Query: plan.Query{Info: new(request.Info), Verb: negotiate.Watch}}}
}

// Text costs what it was before a watch compressed it.
func TestWatchesThatCompressTakeTurnsAsOthersDo(t *testing.T) {
	const piece = 64 << 10
	pieces := map[splice.Coding]int{}
	for _, coding := range []splice.Coding{splice.Identity, splice.Gzip, splice.Zstd} {
		ctx, cancel := context.WithCancel(t.Context())
		cpu := flowcontrol.NewCPU(1)
		other := cpu.Work(ctx, limits.Caller{Group: "other"}, 1<<30)
		if err := other.Next(); err != nil {
			t.Fatal(err)
		}
		cancel() // now a watch ends where it would wait for its turn
		w := body.New(httptest.NewRecorder(), head(), cpu.Work(ctx, limits.Caller{Group: "jane"}, 1), coding, 0)
		var err error
		for ; err == nil && pieces[coding] < 100; pieces[coding]++ {
			err = w.Write(make([]byte, piece))
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("coding %v: %v after %d pieces", coding, err, pieces[coding])
		}
		other.Rest()
	}
	if n := pieces[splice.Identity]; pieces[splice.Gzip] != n || pieces[splice.Zstd] != n {
		t.Errorf("written before the first turn: %v", pieces)
	}
}
