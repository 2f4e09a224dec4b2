package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

func main() {
	err := run(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// run runs the demo. Further signals change nothing: stopping is short, and under make one Ctrl-C may arrive
// twice.
func run(args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	klog.SetLogger(logr.Discard()) // client-go's log lines would break the live line
	o, err := parseOptions(args)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "sluice-demo-")
	if err != nil {
		return err
	}
	d := &demo{options: o, dir: dir, out: os.Stdout}
	return errors.Join(d.run(ctx), os.RemoveAll(dir))
}
