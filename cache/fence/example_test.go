package fence_test

import (
	"context"
	"fmt"

	"sluice/cache"
	"sluice/cache/fence"
)

// quietResource is an Apiserver of a resource without events, at version 15.
type quietResource struct{}

func (quietResource) Probe(context.Context) (uint64, error) { return 15, nil }

func (quietResource) Inventory(context.Context, cache.Scope, uint64) (*cache.Inventory, error) {
	return &cache.Inventory{Version: 15}, nil
}

func (quietResource) SecondWatch(_ context.Context, _ uint64, _, bookmark func(uint64)) error {
	bookmark(15)
	return nil
}

// A consistent read waits until the newest state has everything that the apiserver had committed when the read began.
func ExampleFence() {
	ctx, cancel := context.WithCancel(context.Background())
	store := cache.New(cache.Options{}, nil, 10)
	f := fence.New(store.Store, quietResource{}, func() fence.Cost { return fence.Cost{Share: 0.05, BytesPerSecond: 4 << 20} }, func(error) { cancel() })
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f.Run(ctx)
	}()

	proof, err := f.Prove(ctx, fence.Need{})
	if err != nil {
		panic(err)
	}
	fmt.Printf("state at version %d, proof %s\n", store.Snapshot().Version, proof.Proof)
	cancel()
	<-ended
	// Output:
	// state at version 15, proof roll-call
}
