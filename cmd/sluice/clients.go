package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"sluice/proxy/clients"
)

// listFlags are the command line flags of clients, watches and top.
type listFlags struct {
	adminClient
	output string
}

// outputs are the formats of lists.
var outputs = []string{"text", "wide", "json"}

// check returns why a flag is wrong.
func (f *listFlags) check() error {
	if !slices.Contains(outputs, f.output) {
		return fmt.Errorf("--output: %q is none of text, wide and json", f.output)
	}
	return nil
}

// list returns a list of a kind, and its JSON.
func (f *listFlags) list(ctx context.Context, path string, q url.Values, kind string, into any) ([]byte, error) {
	body, err := f.ask(ctx, http.MethodGet, "/see/v1alpha1/"+path+"?"+q.Encode(), nil)
	var is struct{ Kind string }
	if err == nil {
		err = errors.Join(json.Unmarshal(body, &is), json.Unmarshal(body, into))
	}
	if err == nil && is.Kind != kind {
		err = fmt.Errorf("the answer is no %s of Sluice", kind)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.address, err)
	}
	return body, nil
}

// clientsFlags are the command line flags of clients.
type clientsFlags struct {
	listFlags
	user, agent, resource, namespace, by string
	hints                                bool
}

func clientsCommand() *cobra.Command {
	var f clientsFlags
	c := &cobra.Command{
		Use:   "clients [--address URL]",
		Short: "Say who costs the apiserver what",
		Long: `Say what each client costs the apiserver, and what it would cost without Sluice, in cores; with hints how it would cost
less. It exits with 0, with --hints with 1 if there is one, and with 2 if it cannot tell.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c.Context(), c.OutOrStdout()) },
	}
	set := f.prepare(c)
	set.StringVarP(&f.output, "output", "o", "text", "text, wide for requests by outcome and the evidence of hints, or json")
	set.StringVar(&f.user, "user", "", "only users whose names contain this")
	set.StringVar(&f.agent, "agent", "", "only programs whose names contain this")
	set.StringVar(&f.resource, "resource", "", "only resources whose names contain this, as in pods.v1")
	set.StringVarP(&f.namespace, "namespace", "n", "", "only namespaces whose names contain this; * for reads of all")
	set.StringVar(&f.by, "sort-by", "", "would-cost, cost, lists, bytes, watches, behind, refused or hints")
	set.BoolVar(&f.hints, "hints", false, "only clients with hints, and these hints")
	complete(c, "sort-by", topOrders...)
	complete(c, "output", outputs...)
	return c
}

func (f *clientsFlags) run(ctx context.Context, out io.Writer) error {
	if err := f.check(); err != nil {
		return unknown(err)
	}
	var l clients.ClientList
	q := url.Values{"user": {f.user}, "agent": {f.agent}, "resource": {f.resource}, "ns": {f.namespace}, "by": {f.by}}
	body, err := f.list(ctx, "clients", q, "ClientList", &l)
	if err != nil {
		return unknown(err)
	}
	if f.hints {
		l.Items = slices.DeleteFunc(l.Items, func(r clients.Row) bool { return len(r.Hints) == 0 })
		body, err = json.MarshalIndent(l, "", "  ")
		body = append(body, '\n')
	}
	if f.output != "json" {
		body = clientsText(&l, f.output == "wide" || f.hints)
	}
	if _, err := out.Write(body); err != nil {
		return unknown(err)
	}
	if f.hints && len(l.Items) > 0 {
		return exitError{nil, exitNotWell}
	}
	return unknown(err)
}

// clientsText returns clients for people.
func clientsText(l *clients.ClientList, wide bool) []byte {
	var out bytes.Buffer
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	columns := "USER\tAGENT\tRESOURCE\tNAMESPACE\tLISTS/S\tWATCHES\tSENT/S\tWOULD-COST\tCOST\tWHY-PASSED\tHINTS"
	if wide {
		columns += "\tSERVED\tPASSED\tREFUSED\tFAILED"
	}
	fmt.Fprintln(w, columns)
	for i := range l.Items {
		r := &l.Items[i]
		var hints []string
		for _, h := range r.Hints {
			hints = append(hints, h.Name)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%.2f\t%d\t%s\t%s\t%s\t%s\t%s", text(r.User), text(r.Agent), text(r.Resource), text(r.Namespace),
			r.Recent.Lists, r.Watches, bytesText(r.Recent.Sent), milli(r.Recent.WouldCost), milli(r.Recent.Cost), text(r.PassedBecause),
			text(strings.Join(hints, ",")))
		if wide {
			fmt.Fprintf(w, "\t%d\t%d\t%d\t%d", r.Count("served"), r.Count("passed"), r.Count("refused"), r.Count("failed"))
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush() // a buffer takes everything
	for i := range l.Items {
		for _, h := range l.Items[i].Hints {
			if r := &l.Items[i]; wide {
				fmt.Fprintf(&out, "\n%s of %s %s: it %s.\n  %s\n", h.Name, text(r.User), text(r.Resource), h.Evidence, h.Advice)
			}
		}
	}
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
