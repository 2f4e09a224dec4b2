package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// commands are the hidden subcommands of child processes.
var commands = map[string]func(args []string) int{
	controllerCommand: controllerManager,
	sampleCommand:     sampleServer,
}

func main() {
	if len(os.Args) > 1 && commands[os.Args[1]] != nil {
		os.Exit(commands[os.Args[1]](os.Args[2:]))
	}
	opts, err := parseOptions(os.Args[1:])
	if err != nil {
		os.Exit(2)
	}
	term, err := redirect(opts.dir.file("apiserver.log"))
	if err != nil {
		fmt.Fprintln(os.Stderr, "controlplane:", err)
		os.Exit(1)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, opts, term.out); err != nil {
		fmt.Fprintf(term.err, "controlplane: %v; logs are in %s\n", err, opts.dir)
		os.Exit(1)
	}
}
