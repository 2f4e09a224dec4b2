package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"sluice/proxy/message"
)

// exitError is an error with an exit code of its own. Without an error nothing is printed.
type exitError struct {
	error
	code int
}

// Unwrap returns the error.
func (e exitError) Unwrap() error { return e.error }

// The exit codes of commands that ask a Sluice, besides 0.
const (
	exitNotWell = 1
	exitUnknown = 2
)

// unknown adds the exit code of an unknown state to an error. It returns nil for nil.
func unknown(err error) error {
	if err == nil {
		return nil
	}
	return exitError{err, exitUnknown}
}

// outputs are the formats of lists.
var outputs = []string{"text", "wide", "json"}

// answer prints a text for people, or a value as JSON, and returns the exit code: 1 if somebody has to do something.
func answer(out io.Writer, format string, value any, people []byte, well bool) error {
	if format == "json" {
		var err error
		if people, err = json.MarshalIndent(value, "", "  "); err != nil {
			return unknown(err)
		}
		people = append(people, '\n')
	}
	if _, err := out.Write(people); err != nil {
		return unknown(err)
	}
	if !well {
		return exitError{nil, exitNotWell}
	}
	return nil
}

// table is rows of cells for people.
type table [][]any

// newTable returns a table with the names of its columns.
func newTable(columns string) *table {
	t := &table{}
	t.row()
	for name := range strings.FieldsSeq(columns) {
		(*t)[0] = append((*t)[0], name)
	}
	return t
}

// row adds a row. Strings among its cells may have been chosen by clients.
func (t *table) row(cells ...any) { *t = append(*t, cells) }

// bytes returns the table with aligned columns.
func (t *table) bytes() []byte {
	var out bytes.Buffer
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	for _, cells := range *t {
		for i, cell := range cells {
			if s, ok := cell.(string); ok {
				cell = text(s)
			}
			fmt.Fprint(w, cell, map[bool]string{true: "\n", false: "\t"}[i == len(cells)-1])
		}
	}
	_ = w.Flush() // a buffer takes everything
	return out.Bytes()
}

// text returns a text that a client may have chosen for a terminal.
func text(s string) string {
	if s == "" {
		return "-"
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}

// adviceText says what can be done about reasons.
func adviceText(reasons []string) (text string) {
	for _, a := range message.Advise(reasons...) {
		text += fmt.Sprintf("\n%s: %s\n", a.Reason, a.Do)
	}
	return text
}

// milli formats cores as Kubernetes does: 280m.
func milli(cores float64) string {
	switch m := cores * 1000; {
	case m == 0:
		return "0"
	case m < 1:
		return "<1m"
	default:
		return strconv.FormatFloat(m, 'f', 0, 64) + "m"
	}
}

// bytesText formats a number of bytes in SI units.
func bytesText(n float64) string {
	for _, unit := range []string{"B", "kB", "MB"} {
		if n < 999.5 {
			return strconv.FormatFloat(n, 'f', 0, 64) + unit
		}
		n /= 1000
	}
	return strconv.FormatFloat(n, 'f', 1, 64) + "GB"
}

// ageText formats a time that may be unknown.
func ageText(seconds *float64) string {
	if seconds == nil {
		return "-"
	}
	return time.Duration(*seconds * float64(time.Second)).Round(time.Millisecond).String()
}
