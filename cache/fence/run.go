package fence

import (
	"context"
	"sync"
)

// Run probes and confirms on behalf of the callers until the context or the store ends.
func (f *Fence) Run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var loops sync.WaitGroup
	loops.Go(func() { onSignal(ctx, f.probeDue, f.runProbe) })
	loops.Go(func() { onSignal(ctx, f.proofDue, f.prove) })
	loops.Go(func() { onSignal(ctx, f.stallDue, f.endStall) })
	loops.Go(func() { onSignal(ctx, f.mendDue, f.mend) })
	loops.Go(func() { f.takeInventoriesAt(ctx) })
	select {
	case <-ctx.Done():
	case <-f.store.Done():
	}
	cancel()
	loops.Wait()
	f.inventories.Wait()
	f.failNextProbe()
}

// onSignal calls do for each token in the channel until the context ends.
func onSignal(ctx context.Context, signal <-chan struct{}, do func(context.Context)) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-signal:
			do(ctx)
		}
	}
}
