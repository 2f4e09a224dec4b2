package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// table is aligned text.
type table struct{ w *tabwriter.Writer }

func newTable(out io.Writer, heads ...string) *table {
	fmt.Fprintln(out)
	t := &table{tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)}
	t.row(heads...)
	return t
}

func (t *table) row(cells ...string) { fmt.Fprintln(t.w, strings.Join(cells, "\t")) }

func (t *table) flush() { _ = t.w.Flush() } // nothing can be done about a closed terminal

// none is the cell of a missing measurement.
const none = "-"

func seconds(s float64) string { return figure("%.3f", s) }
func millis(s float64) string  { return figure("%.1f", s*1e3) }
func micros(s float64) string  { return figure("%.1f", s*1e6) }
func megabytes(n int64) string { return figure("%.1f", float64(n)/1e6) }

// figure formats a measurement; zero means none.
func figure(format string, f float64) string {
	if f == 0 {
		return none
	}
	return fmt.Sprintf(format, f)
}

func ratio(a, b float64) string {
	if a <= 0 || b <= 0 {
		return none
	}
	return times(a / b)
}

func times(f float64) string { return fmt.Sprintf("%.1fx", f) }
