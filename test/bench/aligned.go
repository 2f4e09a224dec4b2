package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// aligned is text in columns.
type aligned struct{ w *tabwriter.Writer }

// newAligned begins with lines of heads, which have bars between the cells.
func newAligned(out io.Writer, heads string) *aligned {
	fmt.Fprintln(out)
	a := &aligned{tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)}
	for line := range strings.SplitSeq(heads, "\n") {
		a.row(strings.Split(line, "|")...)
	}
	return a
}

func (a *aligned) row(cells ...string) { fmt.Fprintln(a.w, strings.Join(cells, "\t")) }

func (a *aligned) flush() { _ = a.w.Flush() } // nothing can be done about a closed terminal

// none is the cell of a missing measurement.
const none = "-"

func millis(s float64) string { return figure("%.1f", s*1e3) }
func micros(s float64) string { return figure("%.1f", s*1e6) }

func megabytes[T int64 | float64](n T) string { return figure("%.1f", float64(n)/1e6) }

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
	return fmt.Sprintf("%.1fx", a/b)
}
