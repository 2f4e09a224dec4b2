package main

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sluice/test/harness"
)

var update = flag.Bool("update", false, "write the lists that come from the code into docs")

// description is what a prometheus.Desc shows of itself, label a label in it, and setting what else stands for code.
var (
	description = regexp.MustCompile(`^Desc{fqName: "(sluice_\w+)", help: "(.*?)", (?:unit: ".*", )?constLabels: {(.*)}, variableLabels: {(.*)}}$`)
	label       = regexp.MustCompile(`(\w+)(?:="[^"]*")?`)
	setting     = regexp.MustCompile(`sluice_\w+|(?:cache|limits)\.\w+`)
)

// TestMetricsPageHasEveryMetric lists the metrics of a process by their own words, in which quotation marks stand for code.
func TestMetricsPageHasEveryMetric(t *testing.T) {
	metrics := newMetrics()
	defer buildComponents(t, 0, metrics).upstream.Close()
	descriptions := make(chan *prometheus.Desc)
	go func() {
		defer close(descriptions)
		metrics.registry.Describe(descriptions)
	}()
	items := map[string]string{}
	for d := range descriptions {
		found := description.FindStringSubmatch(d.String())
		if found == nil {
			continue // of Go and the process
		}
		var labels []string
		for _, l := range label.FindAllStringSubmatch(found[3]+","+found[4], -1) {
			labels = append(labels, "`"+l[1]+"`")
		}
		text := "- `" + found[1] + "`"
		if labels != nil {
			text += " (" + strings.Join(labels, ", ") + ")"
		}
		help := setting.ReplaceAllString(strings.ReplaceAll(strings.TrimSuffix(found[2], "."), `\"`, "`"), "`$0`")
		items[found[1]] = wrapped(text+": "+help, "  ")
	}
	var list strings.Builder
	for _, name := range slices.Sorted(maps.Keys(items)) {
		list.WriteString(items[name])
	}
	harness.CheckGenerated(t, "docs/metrics.md", "metrics", list.String(), *update)
	checkMapping(t, items)
}

// mapped are the metrics in the last cell of a row of the table for dashboards of the apiserver, without their prefix.
var mapped = regexp.MustCompile("`([a-z_]+)(?:{[^`]*})?`")

// checkMapping looks for each metric that stands for one of the apiserver.
func checkMapping(t *testing.T, metrics map[string]string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## From the metrics of the apiserver\n")
	section, _, _ = strings.Cut(section, "\n##")
	rows := 0
	for line := range strings.Lines(section) {
		cells := strings.Split(line, " | ")
		for _, found := range mapped.FindAllStringSubmatch(cells[len(cells)-1], -1) {
			if rows++; len(cells) > 1 && metrics["sluice_"+found[1]] == "" {
				t.Errorf("there is no metric sluice_%s for %s", found[1], cells[0])
			}
		}
	}
	if rows < 20 {
		t.Errorf("the table has only %d metrics", rows)
	}
}

// TestDocumentsHaveEveryCommand lists the commands and their flags by their own words.
func TestDocumentsHaveEveryCommand(t *testing.T) {
	var text strings.Builder
	var describe func(*cobra.Command)
	describe = func(c *cobra.Command) {
		if c.Runnable() {
			fmt.Fprintf(&text, "\n## %s\n\n`%s`\n\n%s", c.CommandPath(), c.UseLine(), wrapped(strings.TrimSuffix(cmp.Or(c.Long, c.Short), ".")+".", ""))
			if !c.HasSubCommands() {
				text.WriteString(examples(t, c))
			}
			if c.HasLocalFlags() {
				text.WriteString("\n")
			}
			c.LocalFlags().VisitAll(func(f *pflag.Flag) {
				if !f.Hidden {
					text.WriteString(wrapped(flagItem(f), "  "))
				}
			})
		}
		for _, sub := range c.Commands() {
			if !sub.Hidden {
				describe(sub)
			}
		}
	}
	describe(rootCommand())
	harness.CheckGenerated(t, "docs/commands.md", "commands", text.String(), *update)
}

// examples returns the examples of a command as a block with the name of the test that runs them.
func examples(t *testing.T, c *cobra.Command) string {
	t.Helper()
	block := fmt.Sprintf("\n<!-- test/see: %s -->\n", strings.ReplaceAll(strings.TrimPrefix(c.CommandPath(), "sluice "), " ", "-"))
	for line := range strings.Lines(c.Example + "\n") {
		if !strings.HasPrefix(line, "  ") || !strings.Contains(line, c.CommandPath()) {
			t.Errorf("%q is no example of %s", line, c.CommandPath())
		}
		block += "  " + line
	}
	return block
}

// flagItem describes a flag, and its default unless that is nothing.
func flagItem(f *pflag.Flag) string {
	kind, usage := pflag.UnquoteUsage(f)
	text := "- `--" + f.Name + "`"
	if f.Shorthand != "" {
		text += ", `-" + f.Shorthand + "`"
	}
	if kind != "" {
		text += " " + kind
	}
	if !slices.Contains([]string{"", "false", "[]", "0", "0s"}, f.DefValue) {
		text += " (`" + f.DefValue + "`)"
	}
	return text + ": " + usage
}

// wrapped breaks a text into lines.
func wrapped(text, indent string) string {
	const width = 120
	var b strings.Builder
	length := 0
	for word := range strings.FieldsSeq(text) {
		if length > 0 && length+1+len(word) > width {
			b.WriteString("\n" + indent)
			length = len(indent)
		} else if length > 0 {
			b.WriteByte(' ')
			length++
		}
		b.WriteString(word)
		length += len(word)
	}
	return b.String() + "\n"
}
