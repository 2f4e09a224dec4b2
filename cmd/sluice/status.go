package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/wait"

	"sluice/proxy/clients"
	"sluice/proxy/see"
)

// statusFlags are the command line flags of status.
type statusFlags struct {
	adminClient
	output printer
	wait   choice
}

// waits are the values of --wait.
var waits = map[string]func(*see.Status) bool{
	"ready": func(s *see.Status) bool { return s.Well() },
	"synced": func(s *see.Status) bool {
		return s.Well() && !slices.ContainsFunc(s.Resources, func(r see.Resource) bool { return !r.Synced })
	},
}

func statusCommand() *cobra.Command { return new(statusFlags).command() }

func (f *statusFlags) command() *cobra.Command {
	c := &cobra.Command{
		Use:   "status [--address URL] [--wait[=ready|synced] | --watch]",
		Short: "Say how a Sluice is, as its status page does",
		Long: `Say how a Sluice is, in one sentence and a table, or as a value. It exits with 0 if all is well, with 1 if somebody has
to do something, and with 2 if the state is unknown. With --wait it waits until all is well, or for --wait=synced until no cache
is being filled either, for as long as --timeout.`,
		Example: `  sluice status --wait=synced --timeout 2m
  sluice status -o wide
  sluice status -o yaml`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c) },
	}
	set := f.prepare(c)
	f.output.register(c, "history, passed watches and why reads pass")
	f.wait.of = []string{"ready", "synced"}
	f.wait.register(c, "wait", "", "wait until it is ready or synced")
	set.Lookup("wait").NoOptDefVal = "ready"
	f.output.registerWatch(c)
	return c
}

func (f *statusFlags) run(c *cobra.Command) error {
	switch {
	case f.wait.value != "" && f.output.watch:
		return errors.New("--wait ends when the state has come, --watch when it is interrupted: choose one")
	case f.wait.value != "":
		return f.follow(c.Context(), c.OutOrStdout())
	}
	return f.output.show(c, func(ctx context.Context, out io.Writer, width int) error {
		a := f.now(ctx)
		if err := f.print(out, a, width); err != nil || a.is(waits["ready"]) {
			return err
		}
		return no{}
	})
}

// statusAnswer is the status of the replicas that answer, and why others do not.
type statusAnswer struct {
	pods []string
	all  []*see.Status
	err  error
}

// is reports whether a condition holds for all replicas.
func (a *statusAnswer) is(so func(*see.Status) bool) bool {
	return a.err == nil && !slices.ContainsFunc(a.all, func(s *see.Status) bool { return !so(s) })
}

func (f *statusFlags) now(ctx context.Context) (a statusAnswer) {
	a.pods, a.all, a.err = getAll[see.Status](ctx, f.adminClient, "status", nil, "Status")
	return a
}

// podStatus is the status of one of several replicas.
type podStatus struct {
	Pod string `json:"pod"`
	*see.Status
}

// print prints an answer. It returns why that is impossible, or why it is not of all replicas.
func (f *statusFlags) print(out io.Writer, a statusAnswer, width int) error {
	if len(a.all) == 0 {
		return a.err
	}
	var value any = a.all[0]
	if len(a.all) > 1 {
		items := []podStatus{}
		for i, s := range a.all {
			items = append(items, podStatus{a.pods[i], s})
		}
		value = map[string]any{"apiVersion": clients.APIVersion, "kind": "StatusList", "items": items}
	}
	return cmp.Or(a.err, f.output.print(out, value, a.text(f.output.wide(), width)))
}

// follow asks for the status until it is as it should be, and prints it.
func (f *statusFlags) follow(ctx context.Context, out io.Writer) error {
	var last statusAnswer
	question := *f
	question.timeout = min(f.timeout/4, 10*time.Second) // a Sluice that starts meanwhile may answer the next one
	failed := wait.PollUntilContextTimeout(ctx, f.output.every, f.timeout, true, func(ctx context.Context) (bool, error) {
		if a := question.now(ctx); ctx.Err() == nil || last.all == nil { // else the answer was cut
			last = a
		}
		return last.is(waits[f.wait.value]), nil
	})
	if err := f.print(out, last, f.output.width(out)); err != nil || failed == nil { // the last question has no answer
		return err
	}
	return no{fmt.Errorf("%s is not %s after %s", cmp.Or(f.pod.at, f.address), f.wait.value, f.timeout)}
}

// text returns the answer for people: a row that is the same in all replicas once.
func (a *statusAnswer) text(wide bool, width int) []byte {
	var out bytes.Buffer
	same, tables := a.is(func(s *see.Status) bool { return s.Sentence == a.all[0].Sentence }), []*see.Table{}
	for i, s := range a.all {
		tables = append(tables, s.Table())
		if same && i > 0 {
			continue
		}
		pod := ""
		if !same {
			pod = a.pods[i] + ": "
		}
		fmt.Fprintf(&out, "%s %s%s\n", s.Mark(), pod, text(s.Sentence))
		if s.Do != "" {
			fmt.Fprintf(&out, "  %s\n", text(s.Do))
		}
		if s.Runbook != "" {
			fmt.Fprintf(&out, "  Runbook: docs/deploying.md#%s\n", text(s.Runbook))
		}
	}
	out.Write(tableText(see.Merged(a.pods, tables), wide, width))
	return out.Bytes()
}
