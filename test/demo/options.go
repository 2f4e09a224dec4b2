package main

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"sluice/test/harness"
)

// options are the flags.
type options struct {
	dir           string
	listen, admin string
	pods          int
	watchers      int
	length        time.Duration // 0 means until a signal
	record        string        // file of a recording; empty means none
}

// parseOptions reads and checks the flags before anything starts.
func parseOptions(args []string) (options, error) {
	root, err := harness.Root()
	if err != nil {
		return options{}, err
	}
	var o options
	fs := flag.NewFlagSet("demo", flag.ContinueOnError)
	fs.StringVar(&o.dir, "dir", filepath.Join(root, ".demo"), "directory for everything; removed at the end")
	fs.StringVar(&o.listen, "listen", "127.0.0.1:0", "address of Sluice; port 0 picks a free one")
	fs.StringVar(&o.admin, "admin-listen", "127.0.0.1:0", "address of Sluice's metrics and health checks")
	fs.IntVar(&o.pods, "pods", 1000, "number of sample pods")
	fs.IntVar(&o.watchers, "watchers", 50, "number of clients that watch through Sluice")
	fs.DurationVar(&o.length, "for", 0, "time to run once everything is ready; 0 runs until Ctrl-C")
	fs.StringVar(&o.record, "record", "", "run some commands, draw the terminal as an animated SVG into this file, and end")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if fs.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	return o, o.check()
}

func (o options) check() error {
	if o.pods < 1 || o.watchers < 0 || o.length < 0 {
		return errors.New("--pods must be positive, --watchers and --for must not be negative")
	}
	for _, name := range []string{"controlplane", "sluice", "kubectl"} {
		if _, err := harness.Binary(name); err != nil {
			return err
		}
	}
	if o.record != "" {
		if folder, err := os.Stat(filepath.Dir(o.record)); err != nil || !folder.IsDir() {
			return fmt.Errorf("--record %s: no such directory", o.record)
		}
	}
	return errors.Join(free("--listen", o.listen), free("--admin-listen", o.admin))
}

// free returns an error if Sluice could not listen on the address.
func free(option, address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("%s %s: %w", option, address, err)
	}
	return l.Close()
}
