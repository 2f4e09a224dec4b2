package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"sigs.k8s.io/yaml"

	"sluice/proxy/see"
)

// no is the answer of a command that found something to do. It may have an error to print.
type no struct{ error }

// Error implements error.
func (n no) Error() string {
	if n.error == nil {
		return "the answer is no"
	}
	return n.error.Error()
}

// Unwrap returns the error.
func (n no) Unwrap() error { return n.error }

// The exit codes of all commands, besides 0: of the answer no, and of everything else, misuse included.
const (
	exitNotWell = 1
	exitUnknown = 2
)

// exitCode returns the exit code of a command that has returned err.
func exitCode(err error) int {
	if _, is := errors.AsType[no](err); is {
		return exitNotWell
	}
	if err != nil {
		return exitUnknown
	}
	return 0
}

// choice is a flag that takes one of several values.
type choice struct {
	value string
	of    []string
}

// register gives a command the flag.
func (c *choice) register(command *cobra.Command, name, short, usage string) {
	command.Flags().VarP(c, name, short, usage)
	if err := command.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(c.of, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag is there
	}
}

// String implements pflag.Value.
func (c *choice) String() string { return c.value }

// Type implements pflag.Value.
func (c *choice) Type() string { return "string" }

// Set implements pflag.Value.
func (c *choice) Set(value string) error {
	if !slices.Contains(c.of, value) {
		return errors.New("it is none of " + strings.Join(c.of, ", "))
	}
	c.value = value
	return nil
}

// printer is the flag --output: the format in which a command prints a value.
type printer struct {
	format  choice
	watch   bool
	every   time.Duration // between two answers
	printed bool          // a value, after which another one is another document
}

// register gives a command the flag. A command without anything wide prints only one text.
func (p *printer) register(c *cobra.Command, wide string) {
	p.format = choice{"text", []string{"text", "json", "yaml"}}
	if wide != "" {
		p.format.of = slices.Insert(p.format.of, 1, "wide")
		wide = ", wide for " + wide
	}
	p.format.register(c, "output", "o", "text"+wide+", json or yaml")
}

// wide reports whether people want all columns.
func (p *printer) wide() bool { return p.format.value == "wide" }

// print prints a text for people, or a value as JSON or YAML.
func (p *printer) print(out io.Writer, value any, people []byte) (err error) {
	switch p.format.value {
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
	return err
}

// answer prints a value, and returns the exit code: 1 if somebody has to do something.
func (p *printer) answer(out io.Writer, value any, people []byte, well bool) error {
	if err := p.print(out, value, people); err != nil {
		return err
	}
	if !well {
		return no{}
	}
	return nil
}

// refreshEvery is how often --watch and --wait ask again.
const refreshEvery = 2 * time.Second

// registerWatch gives a command the flag --watch.
func (p *printer) registerWatch(c *cobra.Command) {
	p.every = cmp.Or(p.every, refreshEvery)
	c.Flags().BoolVarP(&p.watch, "watch", "w", false, "print it again every two seconds, in a terminal over the last one, until it is interrupted")
}

// screen returns the size of the terminal that shows text for people; zero if there is none.
func (p *printer) screen(out io.Writer) (width, height int) {
	if f, ok := out.(*os.File); ok && (p.format.value == "text" || p.wide()) {
		width, height, _ = term.GetSize(int(f.Fd()))
	}
	return width, height
}

// width returns the number of characters that a line may have; 0 if it does not matter.
func (p *printer) width(out io.Writer) int {
	if p.wide() {
		return 0
	}
	width, _ := p.screen(out)
	return width
}

// show calls print, with --watch again and again until ctx ends. Print gets the width of lines, and exits as the command does
// without --watch.
func (p *printer) show(c *cobra.Command, print func(ctx context.Context, to io.Writer, width int) error) error {
	ctx, out := c.Context(), c.OutOrStdout()
	if !p.watch {
		return print(ctx, out, p.width(out))
	}
	t := time.NewTicker(p.every)
	defer t.Stop()
	for ctx.Err() == nil {
		var page bytes.Buffer
		err := print(ctx, &page, p.width(out))
		if is, found := errors.AsType[no](err); found {
			err = is.error
		}
		text := page.Bytes()
		switch _, height := p.screen(out); {
		case ctx.Err() != nil:
			return nil // the answer was cut
		case err != nil:
			fmt.Fprintln(c.ErrOrStderr(), "sluice: no news:", err)
		case height > 0:
			lines := bytes.SplitAfter(text, []byte("\n"))
			text = append([]byte("\x1b[H\x1b[2J"), bytes.Join(lines[:min(len(lines), height-1)], nil)...)
		}
		if _, err := out.Write(text); err != nil {
			return err
		}
		select {
		case <-t.C:
		case <-ctx.Done():
		}
	}
	return nil
}

// Texts are shortened to wideText while columns can leave, and to narrowText after that.
const wideText, narrowText = 24, 8

// fit makes rows as narrow as a screen: texts are shortened in the middle, and columns leave in an order.
func fit(rows [][]string, width int, leaves []int) [][]string {
	for next := 1; width > 0; {
		widths, over := make([]int, len(rows[0])), -2-width
		for i := range widths {
			for _, row := range rows {
				widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
			}
			over += widths[i] + 2
		}
		widest := slices.Index(widths, slices.Max(widths))
		switch leaving := slices.Index(leaves, next); {
		case over <= 0:
			return rows
		case widths[widest] > wideText, leaving < 0 && widths[widest] > narrowText:
			for _, row := range rows {
				if r, length := []rune(row[widest]), widths[widest]-1; len(r) > length {
					row[widest] = string(r[:length/2]) + "…" + string(r[len(r)-(length-1)/2:])
				}
			}
		case leaving >= 0:
			for j, row := range rows {
				rows[j] = slices.Delete(row, leaving, leaving+1)
			}
			leaves = slices.Delete(slices.Clone(leaves), leaving, leaving+1)
			next++
		default:
			return rows
		}
	}
	return rows
}

// tableText returns a table as text, with the advice about its reasons below.
func tableText(t *see.Table, wide bool, width int) []byte {
	if !wide {
		t = t.Narrow()
	}
	titles, leaves := []string{}, []int{}
	for _, c := range t.Columns {
		titles, leaves = append(titles, strings.ToUpper(c.Title)), append(leaves, c.Leaves)
	}
	rows := [][]string{titles}
	for _, cells := range t.Rows {
		row := []string{}
		for _, c := range cells {
			row = append(row, text(c.Text))
		}
		rows = append(rows, row)
	}
	out := aligned(fit(rows, width, leaves))
	for _, a := range t.Advice() {
		out = fmt.Appendf(out, "\n%s: %s\n", a.Reason, a.Do)
	}
	return out
}

// aligned returns rows with aligned columns.
func aligned(rows [][]string) []byte {
	var out bytes.Buffer
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	for _, cells := range rows {
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	_ = w.Flush() // a buffer takes everything
	return out.Bytes()
}

// text returns a text that a client may have chosen for a terminal.
func text(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\u00a0', r == '\u202f': // the spaces of numbers
			return ' '
		case !unicode.IsPrint(r):
			return '?'
		}
		return r
	}, cmp.Or(s, "–"))
}
