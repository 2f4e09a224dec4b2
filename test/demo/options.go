package main

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"sluice/test/harness"
)

// options are the flags.
type options struct {
	listen, admin string
	pods          int
	watchers      int
	record        string // file of a recording; empty means none
}

// parseOptions reads and checks the flags before anything starts.
func parseOptions(args []string) (options, error) {
	var o options
	fs := flag.NewFlagSet("demo", flag.ContinueOnError)
	fs.StringVar(&o.listen, "listen", "127.0.0.1:0", "address of Sluice; port 0 picks a free one")
	fs.StringVar(&o.admin, "admin-listen", "127.0.0.1:0", "address of Sluice's metrics and health checks")
	fs.IntVar(&o.pods, "pods", 1000, "number of sample pods")
	fs.IntVar(&o.watchers, "watchers", 50, "number of clients that watch through Sluice")
	fs.StringVar(&o.record, "record", "", "run some commands, draw the terminal as an SVG into this file, and end")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if fs.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	return o, o.check()
}

func (o options) check() error {
	if o.pods < 1 || o.watchers < 0 {
		return errors.New("--pods must be positive, --watchers must not be negative")
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
