package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync"
	"syscall"
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
	found                                  bool   // no address says how a pod is reached
	ca, token                              []byte // nil: none
}

// prepare gives a command the flags of the client.
func (c *adminClient) prepare(command *cobra.Command) *pflag.FlagSet {
	set := command.Flags()
	set.StringVar(&c.address, "address", cmp.Or(os.Getenv("SLUICE_ADDRESS"), "http://127.0.0.1:9443"), "URL of the admin listener, or $SLUICE_ADDRESS")
	set.StringVar(&c.caFile, "ca-file", "", "path of the CA of its certificate, for https")
	set.StringVar(&c.serverName, "tls-server-name", "", "name in its certificate; default: the host of the address")
	set.StringVar(&c.tokenFile, "token-file", "", "path of a bearer token, where admin.access is authorized")
	c.pod.register(set)
	set.DurationVar(&c.timeout, "timeout", 10*time.Second, "how long to wait for the answer")
	command.PreRun = func(*cobra.Command, []string) {
		if c.found = !set.Changed("address") && os.Getenv("SLUICE_ADDRESS") == ""; c.found && isPlugin() {
			c.pod.at = cmp.Or(c.pod.at, c.pod.namespace())
		}
	}
	return set
}

// loopback reports whether a host is this one.
func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// authenticate reads the CA of the listener and the token of the reader: of the flags, or else of the namespace of the pod.
func (c *adminClient) authenticate(ctx context.Context) (err error) {
	if c.caFile != "" {
		if c.ca, err = os.ReadFile(c.caFile); err != nil {
			return fmt.Errorf("--ca-file: %w", err)
		}
	}
	if c.tokenFile != "" {
		if c.token, err = os.ReadFile(c.tokenFile); err != nil {
			return fmt.Errorf("--token-file: %w", err)
		}
	}
	if c.found && c.pod.at != "" && c.ca == nil && c.token == nil {
		if c.ca, c.token, err = c.pod.viewer(ctx); c.ca != nil {
			namespace, _, _ := strings.Cut(c.pod.at, "/")
			c.address, c.serverName = "https://127.0.0.1:"+adminPort, cmp.Or(c.serverName, "sluice."+namespace+".svc")
		}
	}
	return err
}

// ask returns the answer of a path.
func (c *adminClient) ask(ctx context.Context, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	if u, err := url.Parse(c.address); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("--address: %q is not http://host:port or https://host:port", c.address)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(c.address, "/")+path, nil)
	if err != nil {
		return nil, err
	}
	encrypted := r.URL.Scheme == "https" || c.pod.at == "" && loopback(r.URL.Hostname()) // nothing but TLS authenticates a pod
	if c.token != nil && !encrypted {
		return nil, errors.New("--token-file: the token would be sent unencrypted; use https")
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, ServerName: c.serverName}}
	defer transport.CloseIdleConnections()
	if c.pod.at != "" {
		transport.DialContext = func(context.Context, string, string) (net.Conn, error) { // maybe after the request
			return c.pod.dial(ctx, cmp.Or(r.URL.Port(), adminPort))
		}
	}
	if c.ca != nil {
		transport.TLSClientConfig.RootCAs = x509.NewCertPool()
		if !transport.TLSClientConfig.RootCAs.AppendCertsFromPEM(c.ca) {
			return nil, fmt.Errorf("%s has no certificate", cmp.Or(c.caFile, "the ConfigMap "+caConfigMap))
		}
	}
	if c.token != nil {
		r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(c.token)))
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

// explain describes the remedy for an address that does not answer as the admin listener does.
func (c *adminClient) explain(err error) error {
	refused, _ := errors.AsType[*refusal](err)
	switch _, plain := errors.AsType[tls.RecordHeaderError](err); {
	case plain:
		return fmt.Errorf("%s speaks HTTP: write http:// in --address", c.address)
	case refused == nil && errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s has not answered within %s: look whether --address is right, or wait longer with --timeout", cmp.Or(c.pod.at, c.address), c.timeout)
	case c.pod.at != "" && errors.Is(err, syscall.ECONNREFUSED): // a pod that refuses says so by a text
		return connecting(err, "the apiserver of the kubeconfig", "--kubeconfig")
	case refused == nil:
		return connecting(err, c.address, "--address")
	case refused.code == http.StatusBadRequest && bytes.Contains(refused.body, []byte("HTTPS server")):
		return fmt.Errorf("%s speaks HTTPS: write https:// in --address, and name its CA with --ca-file", c.address)
	case bytes.HasPrefix(refused.body, []byte(`{"kind":"Status"`)), refused.code == http.StatusNotFound:
		return fmt.Errorf("%s is no admin listener of Sluice: name one with --address; its port is %s by default", c.address, adminPort)
	case refused.code == http.StatusUnauthorized && c.tokenFile == "":
		return fmt.Errorf("%s wants to know who asks: name a file with a token for the API with --token-file", c.address)
	}
	return fmt.Errorf("%s: %w", c.address, err)
}

// connecting describes the remedy for a connection that failed.
func connecting(err error, to, flag string) error {
	_, failed := errors.AsType[*net.OpError](err)
	switch _, untrusted := errors.AsType[*tls.CertificateVerificationError](err); {
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("nobody listens at %s: start it, or name another one with %s", to, flag)
	case untrusted && flag == "--address":
		return fmt.Errorf("%s: %w; look whether --ca-file is right", to, err)
	case untrusted, failed:
		return fmt.Errorf("%s: %w; look whether %s is right", to, err, flag)
	}
	return err
}

// get asks below /see/v1alpha1/ for a value of a kind.
func (c *adminClient) get(ctx context.Context, path string, q url.Values, kind string, into any) error {
	answer, err := c.ask(ctx, "/see/v1alpha1/"+path+"?"+q.Encode())
	var is struct{ Kind string }
	if err != nil {
		return c.explain(err)
	}
	wrong := errors.Join(json.Unmarshal(answer, &is), json.Unmarshal(answer, into))
	if status, ok := into.(*see.Status); wrong != nil || is.Kind != kind || ok && status.Facts == nil {
		return fmt.Errorf("%s is no Sluice of this release: look whether --address is right", c.address)
	}
	return nil
}

// getAll is get from all replicas at once. It returns the answers with the names of their pods, and the errors of the others.
func getAll[T any](ctx context.Context, c adminClient, path string, q url.Values, kind string) (pods []string, all []*T, err error) {
	brief, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	asked, err := c.pod.running(brief)
	if err == nil {
		err = c.authenticate(brief)
	}
	if err != nil {
		return nil, nil, c.explain(err)
	}
	var group sync.WaitGroup
	values, failures := make([]T, len(asked)), make([]error, len(asked))
	for i, pod := range asked {
		of := c
		of.pod.at = pod
		group.Go(func() { failures[i] = of.get(ctx, path, q, kind, &values[i]) })
	}
	group.Wait()
	for i, pod := range asked {
		switch {
		case failures[i] == nil:
			pods, all = append(pods, pod), append(all, &values[i])
		case pod != "":
			failures[i] = fmt.Errorf("pod %s: %w", pod, failures[i])
		}
	}
	return pods, all, errors.Join(failures...)
}

// refusal is an answer other than 200.
type refusal struct {
	code   int
	status string
	body   []byte
}

// Error implements error.
func (r *refusal) Error() string {
	return fmt.Sprintf("%s: %s", r.status, text(strings.Join(strings.Fields(string(r.body[:min(len(r.body), 200)])), " ")))
}
