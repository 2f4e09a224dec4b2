package servetest

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"sluice/cache"
	"sluice/cache/tree"
	"sluice/codec/table"
	"sluice/proxy/resources"
)

// Tables returns foos whose Tables can be served.
func Tables(t *testing.T, n int) *resources.CachedResource {
	c := Foos(n)
	c.Resource.Columns = Columns(t, "A")
	return c
}

// Columns returns the one column that has a name.
func Columns(t *testing.T, name string) *table.Columns {
	t.Helper()
	c, err := table.Custom([]table.PrinterColumn{{Name: name, Type: "string", JSONPath: ".spec.x"}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// AgingFoo returns a foo that was created at a time.
func AgingFoo(i int, version uint64, created time.Time) *tree.Object {
	o := Foo(i, version)
	text := fmt.Sprintf(`{"metadata":{"creationTimestamp":%q,`, created.UTC().Format(time.RFC3339))
	o.Data = bytes.Replace(o.Data, []byte(`{"name"`), []byte(text[len(`{"metadata":`):]+`"name"`), 1)
	return o
}

// AgingFoos returns a cached resource of n foos with the columns Name and Age, of the given ages.
func AgingFoos(t *testing.T, n int, age func(i int) time.Duration) *resources.CachedResource {
	t.Helper()
	c := Foos(0)
	var objects []*tree.Object
	for i := range n {
		objects = append(objects, AgingFoo(i, uint64(i+1), time.Now().Add(-age(i))))
	}
	c.Store = cache.New(cache.Options{HistoryAge: time.Hour, HistoryBytes: 1 << 20}, objects, uint64(n)).Store
	columns, err := table.Custom(nil)
	if err != nil {
		t.Fatal(err)
	}
	c.Resource.Columns = columns
	return c
}

// Pauses are times between lists: no age, some ages and all ages change meanwhile.
var Pauses = []time.Duration{0, time.Second, time.Second, 29 * time.Second, time.Minute, time.Hour, 25 * time.Hour, 365 * 24 * time.Hour}

// SpreadAges returns very different ages, some of them in the future.
func SpreadAges(i int) time.Duration {
	return time.Duration(i*i)*time.Second/4 - 5*time.Second
}

// EventOf applies an event to the store and returns it.
func EventOf(t *testing.T, c *resources.CachedResource, kind cache.Type, o *tree.Object) *cache.Event {
	t.Helper()
	cursor, err := c.Store.Watch(cache.Scope{}, c.Store.Snapshot().Version)
	if err != nil {
		t.Fatal(err)
	}
	defer cursor.Close()
	if err := (&cache.Writer{Store: c.Store}).Apply(kind, o, time.Now()); err != nil {
		t.Fatal(err)
	}
	events := make([]*cache.Event, 1)
	if n, _, err := cursor.Next(events); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	return events[0]
}
