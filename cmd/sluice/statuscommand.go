package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"sluice/proxy/see"
)

// statusFlags are the command line flags of status.
type statusFlags struct {
	address, caFile, tokenFile, output string
	timeout                            time.Duration
}

func statusCommand() *cobra.Command {
	var f statusFlags
	c := &cobra.Command{
		Use:   "status [--address URL]",
		Short: "Say how a Sluice is, as its status page does",
		Long: `Say how a Sluice is, in one sentence and a table, or as JSON. It exits with 0 if all is well, with 1 if somebody has
to do something, and with 2 if that cannot be told.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c.Context(), c.OutOrStdout()) },
	}
	set := c.Flags()
	set.StringVar(&f.address, "address", "http://127.0.0.1:9443", "URL of the admin listener")
	set.StringVar(&f.caFile, "ca-file", "", "path of the CA of its certificate, for https")
	set.StringVar(&f.tokenFile, "token-file", "", "path of a bearer token, where admin.access is authorized")
	set.DurationVar(&f.timeout, "timeout", 10*time.Second, "how long to wait for the answer")
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

func (f *statusFlags) run(ctx context.Context, out io.Writer) error {
	body, err := f.get(ctx)
	var s see.Status
	if err == nil {
		err = json.Unmarshal(body, &s)
	}
	if err == nil && (s.Kind != "Status" || s.Facts == nil) {
		err = errors.New("this is no status of Sluice")
	}
	if err != nil {
		return exitError{fmt.Errorf("%s: %w", f.address, err), exitUnknown}
	}
	if f.output == "json" {
		_, err = out.Write(body)
	} else {
		err = printStatus(out, &s)
	}
	if err == nil && !s.Well() {
		return exitError{nil, exitNotWell}
	}
	return err
}

// get returns the status as JSON.
func (f *statusFlags) get(ctx context.Context) ([]byte, error) {
	if f.output != "text" && f.output != "json" {
		return nil, fmt.Errorf("--output: %q is neither text nor json", f.output)
	}
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(f.address, "/")+"/see/v1alpha1/status", nil)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	if f.caFile != "" {
		ca, err := os.ReadFile(f.caFile)
		if err != nil {
			return nil, err
		}
		transport.TLSClientConfig.RootCAs = x509.NewCertPool()
		if !transport.TLSClientConfig.RootCAs.AppendCertsFromPEM(ca) {
			return nil, fmt.Errorf("%s has no certificate", f.caFile)
		}
	}
	if f.tokenFile != "" {
		token, err := os.ReadFile(f.tokenFile)
		if err != nil {
			return nil, err
		}
		r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	resp, err := transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	const most = 16 << 20
	body, err := io.ReadAll(io.LimitReader(resp.Body, most))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, strings.TrimSpace(string(body[:min(len(body), 200)])))
	}
	return body, err
}

// printStatus prints a status for people.
func printStatus(out io.Writer, s *see.Status) error {
	fmt.Fprintf(out, "%s %s\n", s.Mark(), s.Sentence)
	if s.Do != "" {
		fmt.Fprintf(out, "  %s\n", s.Do)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "RESOURCE\tSYNCED\tOBJECTS\tBYTES\tVERSION\tHEARD\tPROVEN\tREADS/S\tSERVED\tWATCHES")
	age := func(v *float64) string {
		if v == nil {
			return "-"
		}
		return time.Duration(*v * float64(time.Second)).Round(time.Millisecond).String()
	}
	for _, r := range s.Resources {
		served := "-"
		if part, ok := r.Reads.Served(); ok {
			served = fmt.Sprintf("%.1f%%", part*100)
		}
		fmt.Fprintf(w, "%s\t%v\t%.0f\t%.0f\t%.0f\t%s\t%s\t%.1f\t%s\t%.0f\n", r.Name, r.Synced, r.Objects, r.Bytes, r.Version,
			age(r.HeardSeconds), age(r.ProvenSeconds), r.Reads.ServedPerSec+r.Reads.PassedPerSec, served, r.Watches)
	}
	return w.Flush()
}
