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

// A consistent read asks for the apiserver's current version and then waits until the newest state is
// at this version.
func ExampleFence() {
	ctx, cancel := context.WithCancel(context.Background())
	store := cache.New(cache.Options{}, nil, 10)
	fence := fence.New(store, quietResource{}, func() fence.Cost { return fence.Cost{} }, func(error) { cancel() })
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		fence.Run(ctx)
	}()

	version, err := fence.CurrentVersion(ctx)
	if err != nil {
		panic(err)
	}
	proof, err := fence.Confirm(ctx, version)
	if err != nil {
		panic(err)
	}
	fmt.Printf("state at version %d, proof %s\n", store.Snapshot().Version, proof)
	cancel()
	<-ended
	// Output:
	// state at version 15, proof roll-call
}
