package main

import (
	"bytes"
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
to do something, and with 2 if the state is unknown.`,
		Args: func(c *cobra.Command, args []string) error { return unknown(cobra.NoArgs(c, args)) },
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c.Context(), c.OutOrStdout()) },
	}
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return unknown(err) })
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

// unknown adds the exit code of an unknown state to an error. It returns nil for nil.
func unknown(err error) error {
	if err == nil {
		return nil
	}
	return exitError{err, exitUnknown}
}

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
	body, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	switch {
	case err != nil:
		return nil, err
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%s: %s", resp.Status, strings.TrimSpace(string(body[:min(len(body), 200)])))
	case len(body) > most:
		return nil, fmt.Errorf("the status is longer than %d MiB", most>>20)
	}
	return body, nil
}

// statusText returns a status for people.
func statusText(s *see.Status) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s %s\n", s.Mark(), s.Sentence)
	if s.Do != "" {
		fmt.Fprintf(&out, "  %s\n", s.Do)
	}
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
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
	_ = w.Flush() // a buffer takes everything
	return out.Bytes()
}
