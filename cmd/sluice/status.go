package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

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
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr()) },
	}
	set := f.prepare(c)
	f.output.register(c, "history, passed watches and why reads pass")
	f.wait.of = []string{"ready", "synced"}
	f.wait.register(c, "wait", "", "wait until it is ready or synced")
	set.Lookup("wait").NoOptDefVal = "ready"
	f.output.registerWatch(c)
	return c
}

func (f *statusFlags) run(ctx context.Context, out, log io.Writer) error {
	switch {
	case f.wait.value != "" && f.output.watch:
		return errors.New("--wait ends when the state has come, --watch when it is interrupted: choose one")
	case f.wait.value != "":
		return f.follow(ctx, out)
	}
	return f.output.show(ctx, out, log, func(out io.Writer, width int) error {
		a := f.now(ctx)
		if err := f.print(out, a, width); err != nil || a.Well() {
			return err
		}
		return no{}
	})
}

// statusAnswer is a status and its JSON, or why there is none.
type statusAnswer struct {
	*see.Status
	body []byte
	err  error
}

func (f *statusFlags) now(ctx context.Context) (a statusAnswer) {
	a.Status = &see.Status{}
	a.body, a.err = f.get(ctx, "status", nil, "Status", a.Status)
	return a
}

// print prints an answer. It returns why that is impossible.
func (f *statusFlags) print(out io.Writer, a statusAnswer, width int) error {
	if a.err != nil {
		return a.err
	}
	return f.output.print(out, json.RawMessage(a.body), statusText(a.Status, f.output.wide(), width))
}

// longestQuestion bounds each of several questions: a Sluice that starts meanwhile may answer the next one.
const longestQuestion = 10 * time.Second

// follow asks for the status until it is as it should be, and prints it.
func (f *statusFlags) follow(ctx context.Context, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	question := *f
	question.timeout = min(f.timeout/4, longestQuestion) // so that a dead connection leaves time for others
	t := time.NewTicker(f.output.every)
	defer t.Stop()
	var last statusAnswer
	for ctx.Err() == nil {
		a := question.now(ctx)
		if ctx.Err() != nil && last.Status != nil {
			break // the answer was cut
		}
		if last = a; a.err == nil && waits[f.wait.value](a.Status) {
			return f.print(out, a, f.output.width(out))
		}
		select {
		case <-t.C:
		case <-ctx.Done():
		}
	}
	if err := f.print(out, last, f.output.width(out)); err != nil { // the last question has no answer
		return err
	}
	return no{fmt.Errorf("%s is not %s after %s", f.address, f.wait.value, f.timeout)}
}

// statusText returns a status for people.
func statusText(s *see.Status, wide bool, width int) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s %s\n", s.Mark(), s.Sentence)
	if s.Do != "" {
		fmt.Fprintf(&out, "  %s\n", s.Do)
	}
	if s.Runbook != "" {
		fmt.Fprintf(&out, "  Runbook: docs/deploying.md#%s\n", s.Runbook)
	}
	out.Write(tableText(s.Table(), wide, width))
	return out.Bytes()
}
