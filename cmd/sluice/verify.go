package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"sluice/cmd/sluice/conformance"
)

// verifyFlags are the command line flags of verify.
type verifyFlags struct {
	conformance                          bool
	kubeconfig, context, against, output string
	options                              conformance.Options
}

func verifyCommand() *cobra.Command {
	var f verifyFlags
	c := &cobra.Command{
		Use:   "verify --conformance [--against CONTEXT|KUBECONFIG|URL]",
		Short: "Check what stands between clients and an apiserver: lists, watches, formats",
		Long: `Check that an apiserver, gateway, tunnel or load balancer keeps the laws of the Kubernetes API: lists, pages,
versions, watches, streaming lists, negotiation and compression. It reads a few resources with the identity of the
kubeconfig and writes nothing. With --against each request also goes to another endpoint, such as the apiserver
itself, and differences are printed. It exits with 1 if a law is broken or the endpoints differ.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c.Context(), c.OutOrStdout()) },
	}
	set := c.Flags()
	set.BoolVar(&f.conformance, "conformance", false, "check the laws of the API")
	set.StringVar(&f.kubeconfig, "kubeconfig", "",
		"path of the kubeconfig; default: $KUBECONFIG, ~/.kube/config, the pod's service account")
	set.StringVar(&f.context, "context", "", "context of the kubeconfig")
	set.StringVar(&f.against, "against", "",
		"endpoint to compare with: a context, the path of a kubeconfig, or a URL for the same credentials")
	set.StringVar(&f.options.Namespace, "namespace", "",
		"namespace to list and watch in if the user may not do so in all namespaces (default: the namespace of the kubeconfig context)")
	set.StringArrayVar(&f.options.Resources, "resource", nil,
		"resource to read, such as pods or deployments.apps; may be repeated; default: a choice")
	set.StringArrayVar(&f.options.Rows, "row", nil, "row to check; may be repeated; default: all")
	set.DurationVar(&f.options.Idle, "idle", 50*time.Second, "how long a watch without events must stay open")
	set.DurationVar(&f.options.Patience, "patience", 10*time.Second, "how long to wait for what must come at once")
	set.StringVarP(&f.output, "output", "o", "text", "text or json")
	return c
}

func (f *verifyFlags) run(ctx context.Context, out io.Writer) error {
	switch {
	case !f.conformance:
		return errors.New("say what to verify: --conformance")
	case f.output != "text" && f.output != "json":
		return fmt.Errorf("--output: %q is neither text nor json", f.output)
	case f.options.Idle < time.Second || f.options.Patience < time.Second:
		return errors.New("--idle and --patience are at least 1s")
	}
	if err := f.connect(); err != nil {
		return err
	}
	results, err := conformance.Run(ctx, f.options)
	if err != nil {
		return err
	}
	if f.output == "json" {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(results); err != nil {
			return err
		}
	} else {
		conformance.Write(out, results)
	}
	return conformance.Check(results)
}

// connect sets the clients and the namespace.
func (f *verifyFlags) connect() error {
	target := f.loader(f.kubeconfig, f.context)
	cfg, err := target.ClientConfig()
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	if f.options.Namespace == "" {
		if f.options.Namespace, _, err = target.Namespace(); err != nil {
			return fmt.Errorf("kubeconfig: %w", err)
		}
	}
	if f.options.Target, err = conformance.NewClient(cfg); err != nil || f.against == "" {
		return err
	}
	if cfg, err = f.other(cfg, target); err != nil {
		return fmt.Errorf("--against: %w", err)
	}
	f.options.Against, err = conformance.NewClient(cfg)
	return err
}

// other returns the configuration of the endpoint to compare with.
func (f *verifyFlags) other(target *rest.Config, kubeconfig clientcmd.ClientConfig) (*rest.Config, error) {
	if strings.Contains(f.against, "://") {
		other := rest.CopyConfig(target)
		other.Host = f.against
		return other, nil
	}
	raw, err := kubeconfig.RawConfig()
	if err == nil && raw.Contexts[f.against] != nil {
		return f.loader(f.kubeconfig, f.against).ClientConfig()
	}
	return f.loader(f.against, "").ClientConfig()
}

// loader reads a kubeconfig as kubectl does.
func (f *verifyFlags) loader(path, context string) clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = path
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: context})
}
