package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// children are the commands that make this program a child process.
var children = map[string]func(ctx context.Context, args []string, in io.Reader, out io.Writer){
	floorCommand: serveFloor, attackCommand: runAttack,
}

// run is the program. With the command of a child process as the first argument it is that child.
func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) > 0 {
		if child := children[args[0]]; child != nil {
			return try(func() { child(ctx, args[1:], os.Stdin, out) })
		}
	}
	o, err := parseOptions(args)
	if err != nil {
		return err
	}
	return try(func() {
		if o.from != "" {
			loadReport(o.from).print(out)
			return
		}
		r, err := bench(ctx, o)
		r.print(out)
		if o.json != "" {
			r.save(o.json)
		}
		check(err)
	})
}

// bench measures what the options select. With an error it returns the rows before it.
func bench(ctx context.Context, o *options) (*report, error) {
	r := newReport(o)
	measure := costs
	if len(o.scale) > 0 {
		measure = scale
	}
	err := try(func() { measure(ctx, o, r) })
	r.LoadAtEnd = loadAverage()
	return r, err
}

// costs measures fan-outs, lists and proofs, or only proofs, or only what abusive users cost.
func costs(ctx context.Context, o *options, r *report) {
	withWorld(ctx, o, []population{pods(o.pods, namespaces)}, func(w *world) {
		w.awaitSync(ctx, w.cached.sluice)
		idle := w.rest(ctx)
		if o.abuse {
			w.abuses(ctx, r)
			return
		}
		if o.projected {
			w.projections(ctx, r)
			return
		}
		if !o.proofs {
			w.runAll(ctx, r, slices.Concat(fanOutScenarios(o), listScenarios(o)))
			end := w.rest(ctx)
			r.add(&row{Table: idleTable, Case: "after pods are created", By: idle}, &row{Table: idleTable, Case: "at the end", By: end})
		}
		w.proofs(ctx, r)
	})
}

// progress prints a line about the current step to stderr.
func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// child is a process of this program that does what its arguments and its stdin say until that ends.
type child struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	out   io.Reader
}

// startChild runs this program with a command and its arguments.
func startChild(command ...string) *child {
	c := &child{cmd: exec.Command(must(os.Executable()), command...)}
	c.cmd.Stderr = os.Stderr
	c.stdin, c.out = must(c.cmd.StdinPipe()), must(c.cmd.StdoutPipe())
	check(c.cmd.Start())
	return c
}

// stop ends the child.
func (c *child) stop() error {
	_ = c.stdin.Close()
	_, err := io.Copy(io.Discard, c.out)
	return errors.Join(err, c.cmd.Wait())
}
