package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"sluice/cmd/sluice/compare"
	"sluice/cmd/sluice/conformance"
)

// verifyFlags are the command line flags of verify.
type verifyFlags struct {
	conformance                  bool
	kubeconfig, context, against string
	output                       printer
	options                      conformance.Options
}

func verifyCommand() *cobra.Command {
	var f verifyFlags
	c := &cobra.Command{
		Use:   "verify (RESOURCE... | --conformance) [--against CONTEXT|KUBECONFIG|URL]",
		Short: "Compare what a Sluice serves with the apiserver, or check that the API stays as it is between clients and an apiserver",
		Long: `Compare what the Sluice of the kubeconfig serves of a resource with the apiserver, object by object at one version, and
print the names and versions of those that differ. The apiserver is that of --against, or the one that sluice kubeconfig
has noted. It exits with 0 if all are equal, with 1 if some differ, and with 2 if it cannot compare.

With --conformance, check that an apiserver, gateway, tunnel or load balancer keeps the laws of the Kubernetes API: lists,
pages, versions, watches, streaming lists, negotiation and compression. It reads a few resources with the identity of the
kubeconfig and writes nothing. With --against each request also goes to another endpoint, such as the apiserver
itself, and differences are printed. It exits with 1 if a law is broken or the endpoints differ.`,
		Example: `  sluice verify configmaps deployments.apps
  sluice verify --conformance --row 'streaming list' --resource configmaps`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: f.names,
		RunE:              func(c *cobra.Command, args []string) error { return f.run(c.Context(), args, c.OutOrStdout()) },
	}
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return unknown(err) })
	set := c.Flags()
	set.BoolVar(&f.conformance, "conformance", false, "check the laws of the API")
	set.StringVar(&f.kubeconfig, "kubeconfig", "",
		"path of the kubeconfig; default: $KUBECONFIG, ~/.kube/config, the pod's service account")
	set.StringVar(&f.context, "context", "", "context of the kubeconfig")
	set.StringVar(&f.against, "against", "",
		"endpoint to compare with: a context, the path of a kubeconfig, or a URL for the same credentials")
	set.StringVar(&f.options.Namespace, "namespace", "",
		"compare this namespace; with --conformance, read here if the user may not list all namespaces (default: the context's namespace)")
	set.StringArrayVar(&f.options.Resources, "resource", nil,
		"resource to read, such as pods or deployments.apps; may be repeated; default: a choice")
	set.StringArrayVar(&f.options.Rows, "row", nil, "row to check; may be repeated; default: all")
	set.DurationVar(&f.options.Idle, "idle", 50*time.Second, "how long a watch without events must stay open")
	set.DurationVar(&f.options.Patience, "patience", 10*time.Second, "how long to wait for what must come at once")
	f.output.register(c, "")
	return c
}

// names completes names of resources.
func (f *verifyFlags) names(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	cfg, err := loadKubeconfig(f.kubeconfig, f.context).ClientConfig()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	cfg.Timeout = 5 * time.Second // nobody waits longer for a shell
	names, err := compare.Names(cfg)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func (f *verifyFlags) run(ctx context.Context, resources []string, out io.Writer) error {
	switch {
	case f.options.Idle < time.Second || f.options.Patience < time.Second:
		return unknown(errors.New("--idle and --patience are at least 1s"))
	case f.conformance && len(resources) > 0:
		return unknown(errors.New("--conformance takes resources by --resource"))
	case len(resources) > 0:
		return f.compare(ctx, resources, out)
	case !f.conformance:
		return unknown(errors.New("say what to verify: a resource, such as pods, or --conformance"))
	}
	if err := f.connect(); err != nil {
		return err
	}
	results, err := conformance.Run(ctx, f.options)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	conformance.Write(&text, results)
	if err := f.output.print(out, results, text.Bytes()); err != nil {
		return err
	}
	return conformance.Check(results)
}

// connect sets the clients and the namespace.
func (f *verifyFlags) connect() error {
	target := loadKubeconfig(f.kubeconfig, f.context)
	cfg, other, err := f.endpoints(target)
	if err != nil {
		return err
	}
	if f.options.Namespace == "" {
		if f.options.Namespace, _, err = target.Namespace(); err != nil {
			return fmt.Errorf("kubeconfig: %w", err)
		}
	}
	if f.options.Target, err = conformance.NewClient(cfg); err != nil || other == nil {
		return err
	}
	f.options.Against, err = conformance.NewClient(other)
	return err
}

// endpoints returns the configurations of the endpoint of the kubeconfig, and of that to compare with: nil without --against.
func (f *verifyFlags) endpoints(target clientcmd.ClientConfig) (cfg, other *rest.Config, err error) {
	if cfg, err = target.ClientConfig(); err != nil {
		return nil, nil, fmt.Errorf("kubeconfig: %w", err)
	}
	if f.against == "" {
		return cfg, nil, nil
	}
	if other, err = f.other(cfg, target); err != nil {
		return nil, nil, fmt.Errorf("--against: %w", err)
	}
	return cfg, other, nil
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
		return loadKubeconfig(f.kubeconfig, f.against).ClientConfig()
	}
	return loadKubeconfig(f.against, "").ClientConfig()
}

// compare compares resources.
func (f *verifyFlags) compare(ctx context.Context, resources []string, out io.Writer) error {
	target := loadKubeconfig(f.kubeconfig, f.context)
	sluice, apiserver, err := f.endpoints(target)
	if err == nil && apiserver == nil {
		apiserver, err = f.noted(target)
	}
	if err != nil {
		return unknown(err)
	}
	v, err := compare.Run(ctx, compare.Options{
		Sluice: sluice, Apiserver: apiserver, Namespace: f.options.Namespace, Patience: f.options.Patience,
	}, resources)
	if v == nil || len(v.Items) == 0 {
		return unknown(err)
	}
	well := !slices.ContainsFunc(v.Items, func(r compare.Result) bool { return !r.Equal() })
	failure := f.output.answer(out, v, []byte(differencesText(v)), well)
	if exit, _ := errors.AsType[exitError](failure); exit.code == exitNotWell { // whatever cannot be compared besides
		return exitError{err, exitNotWell}
	}
	return unknown(errors.Join(failure, err))
}

// noted returns the configuration of the apiserver that sluice kubeconfig has noted.
func (f *verifyFlags) noted(target clientcmd.ClientConfig) (*rest.Config, error) {
	raw, err := target.RawConfig()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	name := cmp.Or(f.context, raw.CurrentContext)
	cluster := &clientcmdapi.Cluster{}
	if c := raw.Contexts[name]; c != nil && raw.Clusters[c.Cluster] != nil {
		cluster = raw.Clusters[c.Cluster]
	}
	if err := restoreCluster(cluster); err != nil {
		return nil, fmt.Errorf("name the apiserver with --against: the cluster of the kubeconfig %w", err)
	}
	return clientcmd.NewNonInteractiveClientConfig(raw, name, &clientcmd.ConfigOverrides{}, nil).ClientConfig()
}

// mostDifferences bounds the objects of a kind that are printed for people. JSON has all.
const mostDifferences = 100

// differencesText returns results for people.
func differencesText(v *compare.Verification) string {
	var out strings.Builder
	for i := range v.Items {
		r := &v.Items[i]
		verdict, known := "equal", ""
		if !r.Equal() {
			verdict = "DIFFERENT"
		}
		if r.AgeSeconds != nil {
			known = ", the newest " + ageText(r.AgeSeconds) + " ago"
		}
		fmt.Fprintf(&out, "%s: %s at version %s%s: %d objects, %d missing, %d extra, %d different\n", r.Resource, verdict,
			r.ResourceVersion, known, r.Objects, len(r.Missing), len(r.Extra), len(r.Different))
		for _, of := range []struct {
			what string
			all  []compare.Difference
		}{{"missing", r.Missing}, {"extra", r.Extra}, {"different", r.Different}} {
			for _, d := range of.all[:min(len(of.all), mostDifferences)] {
				name := strings.TrimPrefix(d.Namespace+"/"+d.Name, "/")
				fmt.Fprintf(&out, "  %-9s  %s  version %s, at the apiserver %s\n", of.what, text(name), text(d.Sluice), text(d.Apiserver))
			}
			if more := len(of.all) - mostDifferences; more > 0 {
				fmt.Fprintf(&out, "  %-9s  and %d more\n", of.what, more)
			}
		}
	}
	return out.String()
}
