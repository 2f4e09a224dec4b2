package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
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

// bench measures the cases that the options select. With an error it returns the cases before it.
func bench(ctx context.Context, o *options) (r *report, err error) {
	if len(o.scale) > 0 {
		r = newReport(o)
		err = scale(ctx, o, r)
		r.LoadAtEnd = loadAverage()
		r.Goals = r.outcomes()
		return r, err
	}
	e, err := newEnv(ctx, o)
	defer e.close()
	if err != nil {
		return nil, err
	}
	r = newReport(o)
	if r.Idle, err = e.measureIdle(ctx); err != nil {
		return nil, err
	}
	if !o.proofs && !o.abuse {
		err = e.measureCosts(ctx, r)
	}
	if err == nil && !o.abuse {
		err = e.proofs(ctx, r)
	}
	if err == nil && o.abuse {
		err = e.abuses(ctx, r)
	}
	r.LoadAtEnd = loadAverage()
	r.Goals = r.outcomes()
	return r, err
}

// measureCosts measures latencies, fan-outs and lists, and then the idle servers again.
func (e *env) measureCosts(ctx context.Context, r *report) error {
	for _, c := range latencyCases(e.options) {
		line, err := e.latency(ctx, c)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name(), err)
		}
		r.Latencies = append(r.Latencies, line)
	}
	for _, c := range fanOuts(e.options) {
		line, err := e.fanOut(ctx, c)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name(), err)
		}
		r.FanOuts = append(r.FanOuts, line)
	}
	for _, c := range programCases(e.options) {
		line, err := e.program(ctx, c)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name(), err)
		}
		if line != nil {
			r.Programs = append(r.Programs, line)
		}
	}
	for _, c := range listCases(e.options) {
		line, err := e.list(ctx, c)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name(), err)
		}
		r.Lists = append(r.Lists, line)
	}
	var err error
	r.End, err = e.measureIdle(ctx)
	return err
}

// save writes the report as JSON; an empty path means no file.
func (r *report) save(path string) error {
	if path == "" {
		return nil
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// progress prints a line about the current step to stderr.
func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
