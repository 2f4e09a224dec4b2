package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"sluice/proxy/see"
)

// statusFlags are the command line flags of status.
type statusFlags struct {
	adminClient
	output string
}

func statusCommand() *cobra.Command {
	var f statusFlags
	c := &cobra.Command{
		Use:   "status [--address URL]",
		Short: "Say how a Sluice is, as its status page does",
		Long: `Say how a Sluice is, in one sentence and a table, or as JSON. It exits with 0 if all is well, with 1 if somebody has
to do something, and with 2 if the state is unknown.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c.Context(), c.OutOrStdout()) },
	}
	set := f.prepare(c)
	set.StringVarP(&f.output, "output", "o", "text", "text or json")
	return c
}

// exitError is an error with an exit code of its own. Without an error nothing is printed.
type exitError struct {
	error
	code int
}

// Unwrap returns the error.
func (e exitError) Unwrap() error { return e.error }

// The exit codes of status besides 0.
const (
	exitNotWell = 1
	exitUnknown = 2
)

// unknown adds the exit code of an unknown state to an error. It returns nil for nil.
func unknown(err error) error {
	if err == nil {
		return nil
	}
	return exitError{err, exitUnknown}
}

func (f *statusFlags) run(ctx context.Context, out io.Writer) error {
	if f.output != "text" && f.output != "json" {
		return unknown(fmt.Errorf("--output: %q is neither text nor json", f.output))
	}
	body, err := f.ask(ctx, http.MethodGet, "/see/v1alpha1/status", nil)
	var s see.Status
	if err == nil {
		err = json.Unmarshal(body, &s)
	}
	if err == nil && (s.Kind != "Status" || s.Facts == nil) {
		err = errors.New("this is no status of Sluice")
	}
	if err != nil {
		return unknown(fmt.Errorf("%s: %w", f.address, err))
	}
	if f.output != "json" {
		body = statusText(&s)
	}
	if _, err := out.Write(body); err != nil {
		return unknown(err)
	}
	if !s.Well() {
		return exitError{nil, exitNotWell}
	}
	return nil
}

// statusText returns a status for people.
func statusText(s *see.Status) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s %s\n", s.Mark(), s.Sentence)
	if s.Do != "" {
		fmt.Fprintf(&out, "  %s\n", s.Do)
	}
	out.Write(resourcesText(s))
	return out.Bytes()
}

// resourcesText returns the table of a status.
func resourcesText(s *see.Status) []byte {
	var out bytes.Buffer
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "RESOURCE\tSYNCED\tOBJECTS\tBYTES\tVERSION\tHEARD\tPROVEN\tREADS/S\tSERVED\tWATCHES")
	for _, r := range s.Resources {
		served := "-"
		if part, ok := r.Reads.Served(); ok {
			served = fmt.Sprintf("%.1f%%", part*100)
		}
		fmt.Fprintf(w, "%s\t%v\t%.0f\t%.0f\t%.0f\t%s\t%s\t%.1f\t%s\t%.0f\n", r.Name, r.Synced, r.Objects, r.Bytes, r.Version,
			ageText(r.HeardSeconds), ageText(r.ProvenSeconds), r.Reads.ServedPerSec+r.Reads.PassedPerSec, served, r.Watches)
	}
	_ = w.Flush() // a buffer takes everything
	return out.Bytes()
}
