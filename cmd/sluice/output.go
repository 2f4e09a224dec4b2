package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

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

// printer is the flag --output: the format in which a command prints a value.
type printer struct {
	format  string
	formats []string
	printed bool // a value, after which another one is another document
}

// register gives a command the flag. A command without anything wide prints only one text.
func (p *printer) register(c *cobra.Command, wide string) {
	p.format, p.formats = "text", []string{"text", "json", "yaml"}
	if wide != "" {
		p.formats = slices.Insert(p.formats, 1, "wide")
		wide = ", wide for " + wide
	}
	c.Flags().VarP(p, "output", "o", "text"+wide+", json or yaml")
	complete(c, "output", p.formats...)
}

// String implements pflag.Value.
func (p *printer) String() string { return p.format }

// Type implements pflag.Value.
func (p *printer) Type() string { return "string" }

// Set implements pflag.Value.
func (p *printer) Set(format string) error {
	if !slices.Contains(p.formats, format) {
		return errors.New("it is none of " + strings.Join(p.formats, ", "))
	}
	p.format = format
	return nil
}

// print prints a text for people, or a value as JSON or YAML.
func (p *printer) print(out io.Writer, value any, people []byte) (err error) {
	switch p.format {
	case "json":
		if people, err = json.MarshalIndent(value, "", "  "); err == nil {
			people = append(people, '\n')
		}
	case "yaml":
		if people, err = yaml.Marshal(value); err == nil && p.printed {
			people = append([]byte("---\n"), people...)
		}
	}
	if err == nil {
		p.printed = true
		_, err = out.Write(people)
	}
	return unknown(err)
}

// answer prints a value, and returns the exit code: 1 if somebody has to do something.
func (p *printer) answer(out io.Writer, value any, people []byte, well bool) error {
	if err := p.print(out, value, people); err != nil {
		return err
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
