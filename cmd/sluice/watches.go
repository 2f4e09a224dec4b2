package main

import (
	"cmp"
	"context"
	"io"
	"net/url"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"sluice/proxy/clients"
	"sluice/proxy/see"
	"sluice/proxy/why"
)

// mostEnded is how many watches that have ended are printed.
const mostEnded = 20

// watchesFlags are the command line flags of watches.
type watchesFlags struct {
	adminClient
	output         printer
	user, resource string
	behind         time.Duration
	passed         bool
}

func watchesCommand() *cobra.Command {
	var f watchesFlags
	c := &cobra.Command{
		Use:   "watches [--address URL]",
		Short: "Say which watches are open, how far they are behind, and how others have ended",
		Long: `Show the open watches and how far they are behind, the slowest first, and how the last ones have ended. A row has
the watches of one client for one resource that are answered alike, BEHIND is how many events the slowest of them has
not accepted, and FIRST WAITS how long the first of these has waited. It exits with 0, with --behind with 1 if
there is one that far behind, and with 2 if it cannot tell.`,
		Example: `  sluice watches --user system:node: --behind 1s
  sluice watches --passed -o yaml`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.output.show(c, f.print) },
	}
	set := f.prepare(c)
	f.output.register(c, "each watch in a row of its own, addresses and namespaces")
	f.output.registerWatch(c)
	set.StringVar(&f.user, "user", "", "only users whose names contain this")
	set.StringVar(&f.resource, "resource", "", "only resources whose names contain this, as in pods.v1")
	set.DurationVar(&f.behind, "behind", 0, "only watches for which an event has waited so long")
	set.BoolVar(&f.passed, "passed", false, "only watches that pass to the apiserver")
	return c
}

func (f *watchesFlags) print(ctx context.Context, out io.Writer, width int) error {
	_, all, missing := getAll[see.WatchList](ctx, f.adminClient, "watches", url.Values{"user": {f.user}, "resource": {f.resource}}, "OpenWatchList")
	if len(all) == 0 {
		return missing
	}
	l := all[0]
	for _, other := range all[1:] {
		l.Items, l.Ended = append(l.Items, other.Items...), append(l.Ended, other.Ended...)
	}
	l.Sort()
	l.Ended = why.Newest(l.Ended, mostEnded)
	l.Items = slices.DeleteFunc(l.Items, func(w clients.Watching) bool {
		late := w.WaitingSeconds != nil && *w.WaitingSeconds >= f.behind.Seconds()
		return f.behind > 0 && !late || f.passed && w.Source == "cache"
	})
	table := tableText(see.WatchTable(l.OpenWatchList, f.output.wide()), f.output.wide(), width)
	if len(l.Ended) > 0 && f.behind == 0 && !f.passed {
		table = append(append(table, "\nENDED LAST\n"...), tableText(see.RequestTable(l.Ended), true, width)...)
	}
	return cmp.Or(missing, f.output.answer(out, l, table, f.behind == 0 || len(l.Items) == 0))
}
