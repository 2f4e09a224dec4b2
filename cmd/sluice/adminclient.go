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
	"net/netip"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sluice/proxy/see"
)

// adminClient asks the admin listener of a Sluice.
type adminClient struct {
	address, caFile, serverName, tokenFile string
	timeout                                time.Duration
	pod                                    pod
}

// prepare gives a command the flags of the client, and the exit code of an unknown state to wrong usage.
func (c *adminClient) prepare(command *cobra.Command) *pflag.FlagSet {
	args, set := command.Args, command.Flags()
	command.Args = func(c *cobra.Command, given []string) error { return unknown(args(c, given)) }
	command.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return unknown(err) })
	set.StringVar(&c.address, "address", "http://127.0.0.1:9443", "URL of the admin listener")
	set.StringVar(&c.caFile, "ca-file", "", "path of the CA of its certificate, for https")
	set.StringVar(&c.serverName, "tls-server-name", "", "name in its certificate; default: the host of the address")
	set.StringVar(&c.tokenFile, "token-file", "", "path of a bearer token, where admin.access is authorized")
	c.pod.register(set)
	set.DurationVar(&c.timeout, "timeout", 10*time.Second, "how long to wait for the answer")
	return set
}

// loopback reports whether a host is this one.
func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// ask returns the answer of a path. A body is sent as JSON.
func (c *adminClient) ask(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.address, "/")+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	encrypted := r.URL.Scheme == "https" || c.pod.at == "" && loopback(r.URL.Hostname()) || c.pod.at != "" && c.pod.encrypted()
	if c.tokenFile != "" && !encrypted {
		return nil, errors.New("--token-file: the token would be sent unencrypted; use https")
	}
	r.Header.Set("Content-Type", "application/json")
	transport := &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, ServerName: c.serverName}}
	defer transport.CloseIdleConnections()
	if c.pod.at != "" {
		c.pod.through(ctx, transport, r.URL.Port())
	}
	if c.caFile != "" {
		ca, err := os.ReadFile(c.caFile)
		if err != nil {
			return nil, err
		}
		transport.TLSClientConfig.RootCAs = x509.NewCertPool()
		if !transport.TLSClientConfig.RootCAs.AppendCertsFromPEM(ca) {
			return nil, fmt.Errorf("%s has no certificate", c.caFile)
		}
	}
	if c.tokenFile != "" {
		token, err := os.ReadFile(c.tokenFile)
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
	answer, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	switch {
	case err != nil:
		return nil, err
	case resp.StatusCode != http.StatusOK:
		return nil, &refusal{resp.StatusCode, resp.Status, answer}
	case len(answer) > most:
		return nil, fmt.Errorf("the answer is longer than %d MiB", most>>20)
	}
	return answer, nil
}

// read asks below /see/v1alpha1/ for a value of a kind, and returns its JSON too.
func (c *adminClient) read(ctx context.Context, method, path string, body []byte, kind string, into any) ([]byte, error) {
	answer, err := c.ask(ctx, method, "/see/v1alpha1/"+path, body)
	var is struct{ Kind string }
	if err == nil {
		err = errors.Join(json.Unmarshal(answer, &is), json.Unmarshal(answer, into))
	}
	if status, ok := into.(*see.Status); err == nil && (is.Kind != kind || ok && status.Facts == nil) {
		err = fmt.Errorf("the answer is no %s of Sluice", kind)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.address, err)
	}
	return answer, nil
}

// get is read by GET.
func (c *adminClient) get(ctx context.Context, path string, q url.Values, kind string, into any) ([]byte, error) {
	return c.read(ctx, http.MethodGet, path+"?"+q.Encode(), nil, kind, into)
}

// refusal is an answer other than 200.
type refusal struct {
	code   int
	status string
	body   []byte
}

// Error implements error.
func (r *refusal) Error() string {
	return fmt.Sprintf("%s: %s", r.status, strings.TrimSpace(string(r.body[:min(len(r.body), 200)])))
}
