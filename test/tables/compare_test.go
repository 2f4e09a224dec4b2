package tables

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	sjson "sluice/codec/json"
	"sluice/codec/table"
)

var noTime time.Time

const asTable = "application/json;as=Table;g=meta.k8s.io;v=v1"

// A tableAnswer is a Table with raw cells, definitions and objects.
type tableAnswer struct {
	ColumnDefinitions json.RawMessage `json:"columnDefinitions"`
	Rows              []tableRow      `json:"rows"`
}

type tableRow struct {
	Cells      []json.RawMessage `json:"cells"`
	Conditions json.RawMessage   `json:"conditions"`
	Object     json.RawMessage   `json:"object"`
}

// get reads a URL. The apiserver has printed the body between before and after.
func get(t *testing.T, url, accept string) (body []byte, before, after time.Time) {
	t.Helper()
	before = time.Now()
	a, err := server.Raw("admin").Get(t.Context(), url, accept)
	after = time.Now()
	if err != nil {
		t.Fatal(err)
	}
	if a.Status != 200 {
		t.Fatalf("%s: %d %s", url, a.Status, a.Body)
	}
	return a.Body, before, after
}

func getTable(t *testing.T, url string) (answer tableAnswer, before, after time.Time) {
	t.Helper()
	body, before, after := get(t, url, asTable)
	if err := json.Unmarshal(body, &answer); err != nil {
		t.Fatal(err)
	}
	return answer, before, after
}

// checkRow prints the row's object with ages as of before and as of after the request. Ages only grow,
// so each cell of the apiserver equals one of the two, or lies between them if the request took long:
// then checkRow returns an error and the caller may try again.
func checkRow(c *table.Columns, row tableRow, before, after time.Time) error {
	object := sjson.Value(row.Object)
	early, err := cellsAt(c, object, before)
	if err != nil {
		return err
	}
	late, err := cellsAt(c, object, after)
	if err != nil {
		return err
	}
	return checkCells(row.Cells, early, late)
}

// cellsAt prints an object and expects the same cells from its ageless text, also at the last moment
// before an age changes, and other cells when it does.
func cellsAt(c *table.Columns, object sjson.Value, now time.Time) ([]byte, error) {
	cells, err := c.AppendCells(nil, object, now)
	if err != nil {
		return nil, err
	}
	var text table.Text
	if text.Bytes, text.Ages, err = c.AppendAgeless(nil, object, nil); err != nil {
		return nil, err
	}
	if got := text.AppendAt(nil, now); !bytes.Equal(got, cells) {
		return nil, fmt.Errorf("the ageless text prints %s, want %s", got, cells)
	}
	next, ok := text.Changes(now)
	if !ok {
		return cells, nil
	}
	last, err := c.AppendCells(nil, object, next.Add(-1))
	if err != nil {
		return nil, err
	}
	changed, err := c.AppendCells(nil, object, next)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(last, cells) || bytes.Equal(changed, cells) {
		return nil, fmt.Errorf("%s should change at %v, but is %s before and %s then", cells, next, last, changed)
	}
	return cells, nil
}

func checkCells(want []json.RawMessage, early, late []byte) error {
	var e, l []json.RawMessage
	if err := json.Unmarshal(early, &e); err != nil {
		return fmt.Errorf("%s: %w", early, err)
	}
	if err := json.Unmarshal(late, &l); err != nil {
		return fmt.Errorf("%s: %w", late, err)
	}
	if len(want) != len(e) || len(want) != len(l) {
		return fmt.Errorf("%d cells, want %d", len(e), len(want))
	}
	for i := range want {
		if !bytes.Equal(want[i], e[i]) && !bytes.Equal(want[i], l[i]) {
			return fmt.Errorf("cell %d is %s, want %s, in %s", i, e[i], want[i], early)
		}
	}
	return nil
}

// tries bounds how often a request is repeated whose ages may have changed while it ran.
const tries = 5

// checkTable compares the Table at url with the cells of the objects in it, and returns its rows.
func checkTable(t *testing.T, c *table.Columns, url string) []tableRow {
	t.Helper()
	for try := 1; ; try++ {
		answer, before, after := getTable(t, url)
		if diff := cmp.Diff(string(answer.ColumnDefinitions), string(c.AppendDefinitions(nil))); diff != "" {
			t.Fatalf("definitions (-apiserver +sluice):\n%s", diff)
		}
		err := checkRows(c, answer.Rows, before, after)
		if err == nil {
			return answer.Rows
		}
		if try == tries {
			t.Error(err)
			return answer.Rows
		}
	}
}

func checkRows(c *table.Columns, rows []tableRow, before, after time.Time) error {
	for _, row := range rows {
		if err := checkRow(c, row, before, after); err != nil {
			return fmt.Errorf("%w\n%s", err, row.Object)
		}
		if got := c.AppendConditions(nil, sjson.Value(row.Object)); !bytes.Equal(got, row.Conditions) {
			return fmt.Errorf("conditions %s, want %s\n%s", got, row.Conditions, row.Object)
		}
	}
	return nil
}
