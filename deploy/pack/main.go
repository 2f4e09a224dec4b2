// Command pack puts built binaries of Sluice into images and release archives. The same binaries give the
// same bytes, on any machine and at any time: every entry carries the time of SOURCE_DATE_EPOCH, a fixed
// owner and a fixed place.
//
//	pack image   -out FILE -name NAME -version V OS/ARCH=BINARY...   an OCI archive for all platforms
//	pack archive -out FILE PATH=FILE...                              a tar.gz; PATH is the name in it
//	pack sbom    -out FILE -version V BINARY                         an SPDX document of a Go binary
package main

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

// options are the flags that the subcommands share.
type options struct {
	out      string
	name     string // of the image, with registry and tag
	version  string // of Sluice
	revision string // commit; empty is unknown
	epoch    time.Time
}

func run(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("name a subcommand: image, archive or sbom")
	}
	o, rest, err := parse(args[0], args[1:])
	if err != nil {
		return err
	}
	switch args[0] {
	case "image":
		return writeImage(o, rest)
	case "archive":
		return writeArchive(o, rest)
	case "sbom":
		return writeSBOM(o, rest)
	}
	return fmt.Errorf("%q is no subcommand; use image, archive or sbom", args[0])
}

func parse(name string, args []string) (options, []string, error) {
	var o options
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.StringVar(&o.out, "out", "", "file to write")
	flags.StringVar(&o.name, "name", "localhost/sluice:dev", "name of the image")
	flags.StringVar(&o.version, "version", "unknown", "version of Sluice")
	flags.StringVar(&o.revision, "revision", "", "commit")
	if err := flags.Parse(args); err != nil {
		return o, nil, err
	}
	if o.out == "" || flags.NArg() == 0 {
		return o, nil, fmt.Errorf("%s needs -out and at least one argument", name)
	}
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return o, nil, fmt.Errorf("set SOURCE_DATE_EPOCH to the seconds since 1970 that files shall carry: %w", err)
	}
	o.epoch = time.Unix(seconds, 0).UTC()
	return o, flags.Args(), nil
}

// assignment splits an argument KEY=FILE.
func assignment(arg string) (key, file string, err error) {
	key, file, ok := strings.Cut(arg, "=")
	if !ok || key == "" || file == "" {
		return "", "", fmt.Errorf("%q is not of the form KEY=FILE", arg)
	}
	return key, file, nil
}
