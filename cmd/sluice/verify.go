package main

import (
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
)

// verifyFlags are the command line flags of verify.
type verifyFlags struct {
	kubeconfig, context, against, namespace string
	patience                                time.Duration
	output                                  printer
}

func verifyCommand() *cobra.Command {
	var f verifyFlags
	c := &cobra.Command{
		Use:   "verify RESOURCE... [--against CONTEXT|KUBECONFIG|URL]",
		Short: "Compare what a Sluice serves with the apiserver",
		Long: `Compare what the Sluice of the kubeconfig serves of a resource with the apiserver, object by object at one version, and
print the names and versions of those that differ. The apiserver is that of --against, or the one that sluice kubeconfig
has noted. It exits with 0 if all are equal, with 1 if some differ, and with 2 if it cannot compare.`,
		Example: `  sluice verify configmaps deployments.apps`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("say what to verify: a resource, such as pods")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return f.run(c.Context(), args, c.OutOrStdout()) },
	}
	set := c.Flags()
	set.StringVar(&f.kubeconfig, "kubeconfig", "",
		"path of the kubeconfig; default: $KUBECONFIG, ~/.kube/config, the pod's service account")
	set.StringVar(&f.context, "context", "", "context of the kubeconfig")
	set.StringVar(&f.against, "against", "",
		"the apiserver: a context, the path of a kubeconfig, or a URL for the same credentials")
	set.StringVar(&f.namespace, "namespace", "", "compare only this namespace")
	set.DurationVar(&f.patience, "patience", 10*time.Second, "how long to wait for a state that both have")
	f.output.register(c, "")
	return c
}

// endpoints returns the configurations of the endpoint of the kubeconfig, and of the one to compare with.
func (f *verifyFlags) endpoints() (cfg, other *rest.Config, err error) {
	if cfg, err = restConfig(f.kubeconfig, f.context); err != nil {
		return nil, nil, err
	}
	target := loadKubeconfig(f.kubeconfig, f.context)
	switch {
	case f.against == "":
		other, err = f.noted(target)
		return cfg, other, err
	case strings.Contains(f.against, "://"):
		other = rest.CopyConfig(cfg)
		other.Host = f.against
		return cfg, other, nil
	}
	path, context := f.against, ""
	if raw, err := target.RawConfig(); err == nil && raw.Contexts[f.against] != nil {
		path, context = f.kubeconfig, f.against
	}
	if other, err = loadKubeconfig(path, context).ClientConfig(); err != nil {
		err = fmt.Errorf("--against: %w", err)
	}
	return cfg, other, err
}

func (f *verifyFlags) run(ctx context.Context, resources []string, out io.Writer) error {
	if f.patience < time.Second {
		return errors.New("--patience is at least 1s")
	}
	sluice, apiserver, err := f.endpoints()
	if err != nil {
		return err
	}
	v, err := compare.Run(ctx, compare.Options{
		Sluice: sluice, Apiserver: apiserver, Namespace: f.namespace, Patience: f.patience,
	}, resources)
	switch {
	case v == nil:
		return connecting(err, apiserver.Host, "--against")
	case len(v.Items) == 0:
		return err
	}
	well := !slices.ContainsFunc(v.Items, func(r compare.Result) bool { return !r.Equal() })
	failure := f.output.answer(out, v, []byte(differencesText(v)), well)
	if !well && exitCode(failure) == exitNotWell { // whatever cannot be compared besides
		return no{err}
	}
	return errors.Join(failure, err)
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
			known = fmt.Sprintf(", the newest %v ago", time.Duration(*r.AgeSeconds*float64(time.Second)).Round(time.Millisecond))
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
