package cache_test

import (
	"bytes"
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

// The history also answers for past states.
func ExampleStore_At() {
	store := cache.New(cache.Options{}, []*tree.Object{pod("default/a", 7)}, 10)
	must(store.Apply(cache.Deleted, pod("default/a", 11), time.Now()))

	past, err := store.At(10)
	must(err)
	fmt.Println(past.Len(), "object at version 10,", store.Snapshot().Len(), "objects now")
	_, err = store.At(9)
	fmt.Println(err)
	// Output:
	// 1 object at version 10, 0 objects now
	// history is gone
}

// A snapshot does not change while the store does.
func ExampleSnapshot() {
	store := cache.New(cache.Options{}, []*tree.Object{pod("a/x", 1), pod("a/y", 2), pod("b/x", 3)}, 10)
	before := store.Snapshot()
	must(store.Apply(cache.Deleted, pod("a/x", 11), time.Now()))

	fmt.Println(before.Version, before.Count(tree.Namespace("a")), before.Get("a/x") != nil)
	after := store.Snapshot()
	fmt.Println(after.Version, after.Count(tree.Namespace("a")), after.Get("a/x") != nil)
	// Output:
	// 10 2 true
	// 11 1 false
}

// An index serves the objects with one value of a field, such as spec.nodeName of pods.
func ExampleSnapshot_ByIndex() {
	onNode := func(key tree.Key, rv uint64, node string) *tree.Object {
		o := pod(key, rv)
		o.Fields = []string{node}
		return o
	}
	nodeName := 0
	store := cache.New(cache.Options{Index: &nodeName},
		[]*tree.Object{onNode("a/x", 1, "n1"), onNode("a/y", 2, "n2"), onNode("b/x", 3, "n1")}, 10)
	for o := range store.Snapshot().ByIndex("n1", tree.Range{}) {
		fmt.Println(o.Key)
	}
	// Output:
	// a/x
	// b/x
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

// upperCase is an Encoder of the data of objects. The zero value is comparable, so that all watches
// share its frames.
type upperCase struct{}

func (upperCase) AppendEvent(dst []byte, t cache.Type, o *tree.Object) ([]byte, error) {
	return fmt.Appendf(dst, "%s %s", t, bytes.ToUpper(o.Data)), nil
}

func (upperCase) DeletedFromSelection(o *tree.Object, rv uint64) (*tree.Object, error) {
	return &tree.Object{Key: o.Key, RV: rv, Data: fmt.Appendf(nil, "%s at %d", o.Data, rv)}, nil
}

// named is a Filter.
type named string

func (n named) Match(o *tree.Object) bool { return o.Key.Name() == string(n) }

// An event has a type for each selection, and a frame for each encoder and type.
func ExampleEvent() {
	store := cache.New(cache.Options{}, nil, 10)
	_, cursor, err := store.ListAndWatch(cache.Scope{})
	must(err)
	defer cursor.Close()
	must(store.Apply(cache.Added, pod("a/x", 11), time.Now()))

	events := make([]*cache.Event, 1)
	_, _, err = cursor.Next(events)
	must(err)
	for _, filter := range []tree.Filter{named("x"), named("y")} {
		t, matches := events[0].TypeFor(filter)
		if !matches {
			fmt.Println("not selected")
			continue
		}
		frame, err := events[0].Frame(nil, upperCase{}, t)
		must(err)
		fmt.Printf("%s\n", frame)
	}
	// Output:
	// ADDED A/X@11
	// not selected
}
