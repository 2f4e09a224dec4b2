package fence

import "context"

// Run asks the apiserver on behalf of the reads until the store ends. If the context ends before, the reads that wait
// then wait for the store.
func (f *Fence) Run(ctx context.Context) {
	f.worker.run(ctx, f.store.Done(), [actions]func(context.Context){
		asking: f.runProbe, listingAt: f.takeInventoryAt, proving: f.prove, reviving: f.endStall, mending: f.mend,
	})
}
