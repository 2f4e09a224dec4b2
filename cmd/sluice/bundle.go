package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"sluice/proxy/clients"
)

// bundleFlags are the command line flags of bundle.
type bundleFlags struct {
	adminClient
	output string
	yes    bool
}

func bundleCommand() *cobra.Command {
	var f bundleFlags
	c := &cobra.Command{
		Use:   "bundle [--address URL] [-o FILE] [--yes]",
		Short: "Write an archive for those who shall find out what is wrong",
		Long: `Write an archive with what a Sluice says of itself: its state, configuration, metrics, clients and last requests. It has
no objects, no credentials, no queries and no headers; names of users only if the pages show them to you. Without --yes it only
lists what the archive would have. It exits with 0 if it is written, and else with 2.`,
		Example: "  sluice bundle --output sluice.tar.gz --yes",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return f.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	set := f.prepare(c)
	set.StringVarP(&f.output, "output", "o", "", "path of the archive, - for stdout (default sluice-bundle-TIME.tar.gz)")
	set.BoolVarP(&f.yes, "yes", "y", false, "write it, instead of listing what it would have")
	return c
}

// part is a file of the archive.
type part struct {
	name, has string
	path      string // on the admin listener
	text      []byte
	err       error // why it is missing
}

// bundleParts returns the parts that the admin listener has.
func bundleParts() []part {
	parts := []part{
		{name: "status.json", has: "state, resources, limits, address of the apiserver", path: "/see/v1alpha1/status"},
		{name: "readyz.txt", has: "health checks", path: "/readyz?verbose"},
		{name: "config.json", has: "configuration, with paths and host names", path: "/configz"},
		{name: "metrics.txt", has: "metrics; users that cost most", path: "/metrics"},
		{name: "clients.json", has: "users, programs, namespaces, what they cost", path: "/see/v1alpha1/clients"},
		{name: "watches.json", has: "open watches with users, programs, addresses", path: "/see/v1alpha1/watches"},
		{name: "goroutines.txt", has: "stacks without arguments", path: "/debug/pprof/goroutine?debug=1"},
		{name: "heap.pprof", has: "where memory was allocated", path: "/debug/pprof/heap"},
	}
	for _, class := range clients.Outcomes {
		parts = append(parts, part{
			name: "requests-" + class + ".json", has: "last requests with users, programs, reasons; no paths", path: "/see/v1alpha1/why?show=" + class,
		})
	}
	return parts
}

func (f *bundleFlags) run(ctx context.Context, out, log io.Writer) error {
	now := time.Now().UTC()
	parts, err := f.collect(ctx)
	if err != nil {
		return err
	}
	list := contentsOf(parts)
	fmt.Fprintf(log, "%s", list)
	name := f.output
	if name == "" {
		name = "sluice-bundle-" + now.Format("20060102T150405Z") + ".tar.gz"
	}
	if !f.yes {
		return errors.New("nothing is written: this is the content, and --yes writes it")
	}
	parts = append(parts, part{name: "MANIFEST.txt", text: list})
	if f.output == "-" {
		return writeArchive(out, parts, now)
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(writeArchive(file, parts, now), file.Close()); err != nil {
		return errors.Join(err, os.Remove(name))
	}
	_, err = fmt.Fprintln(out, name)
	return err
}

// collect returns all parts. It fails without a status.
func (f *bundleFlags) collect(ctx context.Context) ([]part, error) {
	parts := bundleParts()
	if err := f.authenticate(ctx); err != nil {
		return nil, f.explain(err)
	}
	for i := range parts {
		p := &parts[i]
		p.text, p.err = f.ask(ctx, p.path)
		if refused, ok := errors.AsType[*refusal](p.err); ok && refused.code == http.StatusInternalServerError {
			p.text, p.err = refused.body, nil // checks that fail
		}
		if i == 0 && p.err != nil { // the address is of something else, such as the API
			return nil, f.explain(p.err)
		}
	}
	own := fmt.Sprintf("sluice %s %s %s/%s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	parts = append(parts, part{name: "version.txt", has: "version of this command", text: []byte(own)})
	return parts, nil
}

// contentsOf describes the parts.
func contentsOf(parts []part) []byte {
	var rows [][]string
	for _, p := range parts {
		size := fmt.Sprintf("%d B", len(p.text))
		if p.err != nil {
			size, p.has = "–", "missing: "+p.err.Error()
		}
		rows = append(rows, []string{p.name, size, text(p.has)})
	}
	return aligned(rows)
}

// writeArchive writes the parts that are not missing.
func writeArchive(out io.Writer, parts []part, now time.Time) error {
	compressed := gzip.NewWriter(out)
	archive := tar.NewWriter(compressed)
	for _, p := range parts {
		if p.err != nil {
			continue
		}
		header := &tar.Header{Name: "sluice-bundle/" + p.name, Mode: 0o600, Size: int64(len(p.text)), ModTime: now}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(p.text); err != nil {
			return err
		}
	}
	return errors.Join(archive.Close(), compressed.Close())
}
