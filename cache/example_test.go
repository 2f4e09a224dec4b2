package cache_test

import (
	"errors"
	"fmt"
	"time"

	"sluice/cache"
	"sluice/cache/tree"
)

func pod(key tree.Key, rv uint64) *tree.Object {
	return &tree.Object{Key: key, RV: rv, Data: fmt.Appendf(nil, "%s@%d", key, rv)}
}

// must ends an example whose calls cannot fail.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// A store starts from a list and applies the events and bookmarks of the watch that follows it.
func ExampleStore() {
	list := []*tree.Object{pod("default/a", 7), pod("default/b", 9)}
	store := cache.New(cache.Options{}, list, 10)
	defer store.Close()

	must(store.Apply(cache.Added, pod("default/c", 11), time.Now()))
	must(store.Apply(cache.Deleted, pod("default/a", 12), time.Now()))
	must(store.ApplyBookmark(20))

	now := store.Snapshot()
	fmt.Println("version", now.Version)
	for o := range now.Objects(tree.Range{}) {
		fmt.Println(o.Key)
	}
	err := store.Apply(cache.Added, pod("default/b", 21), time.Now())
	fmt.Println("diverged:", errors.Is(err, cache.ErrDiverged))
	// Output:
	// version 20
	// default/b
	// default/c
	// diverged: true
}

// A cursor of one namespace reads the events of that namespace only.
func ExampleCursor() {
	store := cache.New(cache.Options{}, nil, 10)
	cursor, err := store.Watch(cache.Scope{Namespace: "a"}, 10)
	must(err)
	defer cursor.Close()

	must(store.Apply(cache.Added, pod("a/x", 11), time.Now()))
	must(store.Apply(cache.Added, pod("b/x", 12), time.Now()))
	store.Close()

	events := make([]*cache.Event, 16)
	for {
		ready := cursor.Ready()
		n, version, err := cursor.Next(events)
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, e := range events[:n] {
			fmt.Println(e.Type, e.Object.Key)
		}
		fmt.Println("caught up to", version)
		<-ready
	}
	// Output:
	// ADDED a/x
	// caught up to 12
	// store is closed
}
