package main

import (
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"os"
)

// options holds the command line flags.
type options struct {
	dir         directory
	address     netip.Addr
	port        int
	controllers bool
	sample      bool
	extra       []string // flags of kube-apiserver
}

// parseOptions parses the command line and creates the directory. It prints errors to stderr.
func parseOptions(args []string) (options, error) {
	var o options
	var dir string
	fs := flag.NewFlagSet("controlplane", flag.ContinueOnError)
	fs.StringVar(&dir, "dir", "", "directory for data, credentials and logs; made if missing (required)")
	fs.TextVar(&o.address, "address", netip.AddrFrom4([4]byte{127, 0, 0, 1}), "IP address of the apiserver; nodes and pods cannot reach loopback addresses")
	fs.IntVar(&o.port, "port", 0, "port of the apiserver; 0 takes a free one")
	fs.BoolVar(&o.controllers, "controllers", false, "run the kube-controller-manager too")
	fs.BoolVar(&o.sample, "sample", false, "run the sample-apiserver too, behind the aggregator")
	fs.Usage = func() {
		fmt.Fprintln(fs.Output(), "usage: controlplane --dir DIR [--address IP] [--port N] [--controllers] [--sample] [-- kube-apiserver flags]")
		fs.PrintDefaults()
	}
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if dir == "" {
		fs.Usage()
		return o, errors.New("no --dir")
	}
	o.extra = fs.Args()
	var err error
	if o.dir, err = openDirectory(dir); err != nil {
		fmt.Fprintln(os.Stderr, "controlplane:", err)
	}
	return o, err
}
