package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
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

// run is the program. With the command of a child process as the first argument it is that child.
func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 2 && args[0] == floorCommand {
		return serveFloor(args[1], os.Stdin, out)
	}
	if len(args) == 1 && args[0] == abuserCommand {
		return runAbuser(ctx, os.Stdin, out)
	}
	if len(args) == 1 && args[0] == attackCommand {
		return runAttack(ctx, os.Stdin, out)
	}
	if len(args) == 6 && args[0] == clientCommand {
		return runClient(ctx, args[1:], out)
	}
	o, err := parseOptions(args)
	if err != nil {
		return err
	}
	var r *report
	if o.from != "" {
		r, err = loadReport(o.from)
	} else {
		r, err = bench(ctx, o)
	}
	if r == nil {
		return err
	}
	r.print(out)
	return errors.Join(err, r.save(o.json), r.savePlot(o.plot))
}

// bench measures what the options select. With an error it returns the rows before it.
func bench(ctx context.Context, o *options) (r *report, err error) {
	r = newReport(o)
	switch {
	case len(o.scale.list) > 0:
		err = scale(ctx, o, r)
	default:
		err = costs(ctx, o, r)
	}
	r.LoadAtEnd = loadAverage()
	r.Goals = r.outcomes()
	return r, err
}

// costs measures latencies, fan-outs, programs, lists and proofs, or only proofs, or only what abusive users cost.
func costs(ctx context.Context, o *options, r *report) (err error) {
	defer fails(&err)
	w, err := newWorld(ctx, o, setting{config: compressedWatches, floor: true, objects: []population{runningPods(o.pods)}})
	defer w.close()
	if err != nil {
		return err
	}
	check(w.awaitSync(ctx, w.sluice))
	idle := must(w.rest(ctx))
	if o.abuse {
		return w.abuses(ctx, r)
	}
	if !o.proofs {
		all := slices.Concat(latencyScenarios(o), fanOutScenarios(o), programScenarios(o), listScenarios(o))
		check(w.runAll(ctx, r, all))
		end := must(w.rest(ctx))
		r.add(&row{Table: idleTable, Case: "after pods are created", By: idle}, &row{Table: idleTable, Case: "at the end", By: end})
	}
	return w.proofs(ctx, r)
}

// progress prints a line about the current step to stderr.
func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
