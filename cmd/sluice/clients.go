package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"sluice/proxy/clients"
)

// clientsFlags are the command line flags of clients.
type clientsFlags struct {
	adminClient
	output                           printer
	user, agent, resource, namespace string
	by                               choice
}

func clientsCommand() *cobra.Command {
	var f clientsFlags
	c := &cobra.Command{
		Use:   "clients [--address URL]",
		Short: "Say who costs the apiserver what",
		Long: `Show the cost of each client at the apiserver, and its cost without Sluice, in cores. It exits with 0, and with 2 if
it cannot tell.`,
		Example: `  sluice clients --resource configmaps --sort-by cost -o wide
  sluice clients --user system:node: -o json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr()) },
	}
	set := f.prepare(c)
	f.output.register(c, "requests by outcome and addresses")
	f.output.registerWatch(c)
	set.StringVar(&f.user, "user", "", "only users whose names contain this")
	set.StringVar(&f.agent, "agent", "", "only programs whose names contain this")
	set.StringVar(&f.resource, "resource", "", "only resources whose names contain this, as in pods.v1")
	set.StringVarP(&f.namespace, "namespace", "n", "", "only namespaces whose names contain this; * for reads of all")
	f.by.of = []string{"would-cost", "cost", "lists", "bytes", "watches", "behind", "refused", "passed"}
	f.by.register(c, "sort-by", "", "what to sort by: "+strings.Join(f.by.of, ", "))
	return c
}

func (f *clientsFlags) run(ctx context.Context, out, log io.Writer) error {
	return f.output.show(ctx, out, log, func(out io.Writer, width int) error { return f.print(ctx, out, width) })
}

func (f *clientsFlags) print(ctx context.Context, out io.Writer, width int) error {
	var l clients.ClientList
	q := url.Values{"user": {f.user}, "agent": {f.agent}, "resource": {f.resource}, "ns": {f.namespace}, "by": {f.by.value}}
	body, err := f.get(ctx, "clients", q, "ClientList", &l)
	if err != nil {
		return err
	}
	return f.output.print(out, json.RawMessage(body), clientsText(&l, f.output.wide(), width))
}

// userText names a caller: one that is not authenticated has no name.
func userText(name string) string { return cmp.Or(name, "(unauthenticated)") }

// costUnits names the units of the columns of costs.
const costUnits = "\nWOULD-COST and COST are of the apiserver, in cores: 1000m is one.\n"

// clientsText returns clients for people.
func clientsText(l *clients.ClientList, wide bool, width int) []byte {
	columns := "USER AGENT RESOURCE NAMESPACE LISTS/S WATCHES SENT/S WOULD-COST COST WHY-PASSED"
	if wide {
		columns += " SERVED PASSED REFUSED FAILED WHY-REFUSED ADDRESS"
	}
	t, reasons := newTable(columns), []string{}
	for i := range l.Items {
		r := &l.Items[i]
		cells := []any{
			userText(r.User), r.Agent, r.Resource, r.Namespace, fmt.Sprintf("%.2f", r.Recent.Lists), r.Watches, bytesText(r.Recent.Sent),
			milli(r.Recent.WouldCost), milli(r.Recent.Cost), r.PassedBecause,
		}
		reasons = append(reasons, r.PassedBecause)
		if wide {
			cells = append(cells, r.Count("served"), r.Count("passed"), r.Count("refused"), r.Count("failed"), r.RefusedBecause, r.Address)
			reasons = append(reasons, r.RefusedBecause)
		}
		t.row(cells...)
	}
	return append(t.fit(width, "NAMESPACE SENT/S AGENT WHY-PASSED LISTS/S").bytes(), costUnits+adviceText(reasons)...)
}
