package tables

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
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

// checkRow prints the row's object with ages as of before and as of after the request, and as of
// every moment between them at which one changes. Each cell of the apiserver equals that of one of
// these moments.
func checkRow(c *table.Columns, row tableRow, before, after time.Time) error {
	object := sjson.Value(row.Object)
	var moments [][]byte
	for at := before; ; {
		cells, err := cellsAt(c, object, at)
		if err != nil {
			return err
		}
		moments = append(moments, cells)
		next, ok, err := changes(c, object, at)
		if err != nil {
			return err
		}
		if !ok || next.After(after) {
			return checkCells(row.Cells, moments...)
		}
		at = next
	}
}

// changes returns when the cells of an object change next.
func changes(c *table.Columns, object sjson.Value, now time.Time) (next time.Time, ok bool, err error) {
	var text table.Text
	if text.Bytes, text.Ages, err = c.AppendAgeless(nil, object, nil); err != nil {
		return next, false, err
	}
	next, ok = text.Changes(now)
	return next, ok, nil
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

// checkCells expects each cell to equal that of one of the moments.
func checkCells(want []json.RawMessage, moments ...[]byte) error {
	all := make([][]json.RawMessage, len(moments))
	for i, m := range moments {
		if err := json.Unmarshal(m, &all[i]); err != nil {
			return fmt.Errorf("%s: %w", m, err)
		}
		if len(want) != len(all[i]) {
			return fmt.Errorf("%d cells, want %d", len(all[i]), len(want))
		}
	}
	for i := range want {
		if !slices.ContainsFunc(all, func(cells []json.RawMessage) bool { return bytes.Equal(want[i], cells[i]) }) {
			return fmt.Errorf("cell %d is %s, want %s, in %s", i, all[0][i], want[i], moments[0])
		}
	}
	return nil
}

// tries bounds how often a request is repeated during which the apiserver may have changed an object.
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
