package tables

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	sjson "sluice/codec/json"
	"sluice/codec/table"
	"sluice/test/harness"
)

// watchQuery requests initial events, which end with a bookmark.
const watchQuery = "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=170&includeObject=Object"

// unwatched maps resources whose watches send no bookmark to the reason.
var unwatched = map[string]string{
	"events.k8s.io/v1/events": "the apiserver keeps no watch cache for events",
	"v1/events":               "the apiserver keeps no watch cache for events",
}

type tableEvent struct {
	Type   string      `json:"type"`
	Object tableAnswer `json:"object"`
}

// watchTables returns the events up to the bookmark at the end of the initial events.
func watchTables(t *testing.T, url string) []tableEvent {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	resp, err := server.Raw("admin").Open(ctx, harness.Request{Path: url, Header: http.Header{"Accept": {asTable}}})
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var events []tableEvent
	for d := json.NewDecoder(resp.Body); ; {
		var e tableEvent
		if err := d.Decode(&e); err != nil {
			t.Fatalf("after %d events: %v", len(events), err)
		}
		events = append(events, e)
		if e.Type == "BOOKMARK" {
			return events
		}
	}
}

// checkWatch expects definitions in the events that must have them, and the cells of every row's object.
// The row of the bookmark must equal the cells of an object that has metadata only.
func checkWatch(t *testing.T, c *table.Columns, url string) {
	t.Helper()
	before := time.Now()
	events := watchTables(t, url)
	after := time.Now()
	for i, e := range events {
		definitions := "null"
		if i == 0 || c.RepeatsDefinitions() {
			definitions = string(c.AppendDefinitions(nil))
		}
		if got := string(e.Object.ColumnDefinitions); got != definitions {
			t.Errorf("event %d: definitions %.80s, want %.80s", i, got, definitions)
		}
		if err := checkRows(c, e.Object.Rows, before, after); err != nil {
			t.Errorf("event %d: %v", i, err)
		}
	}
	if err := checkBookmark(c, events[len(events)-1]); err != nil {
		t.Error(err)
	}
}

func checkBookmark(c *table.Columns, e tableEvent) error {
	if len(e.Object.Rows) != 1 {
		return fmt.Errorf("%d rows", len(e.Object.Rows))
	}
	cells, err := c.AppendCells(nil, sjson.Value(`{"metadata":{"resourceVersion":"1"}}`), time.Now())
	if err != nil {
		return err
	}
	return checkCells(e.Object.Rows[0].Cells, cells)
}

func TestWatchesOfTablesEqualTheApiservers(t *testing.T) {
	for _, l := range builtin(t) {
		if unwatched[l.String()] != "" || unprinted[l.String()] != "" || !l.watchable() {
			continue
		}
		t.Run(l.String(), func(t *testing.T) {
			t.Parallel()
			checkWatch(t, columnsOf(t, l), l.path()+watchQuery+determined(l))
		})
	}
}
