package main

import (
	"cmp"
	"context"
	"io"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"sluice/proxy/clients"
	"sluice/proxy/see"
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
		RunE: func(c *cobra.Command, _ []string) error { return f.output.show(c, f.print) },
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

func (f *clientsFlags) print(ctx context.Context, out io.Writer, width int) error {
	q := url.Values{"user": {f.user}, "agent": {f.agent}, "resource": {f.resource}, "ns": {f.namespace}, "by": {f.by.value}}
	_, all, missing := getAll[clients.ClientList](ctx, f.adminClient, "clients", q, "ClientList")
	if len(all) == 0 {
		return missing
	}
	l := see.MergedClients(all, f.by.value)
	return cmp.Or(missing, f.output.print(out, l, append(tableText(see.ClientTable(l, f.by.value), f.output.wide(), width), "\nWOULD COST and COST are CPU of the apiserver, in cores, for what was served here and for what passed.\n"...)))
}
