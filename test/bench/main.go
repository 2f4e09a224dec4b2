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
	return errors.Join(err, r.save(o.json))
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
	of := setting{config: compressedWatches, floor: true, objects: []population{pods(o.pods, namespaces)}}
	withWorld(ctx, o, of, func(w *world) {
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
