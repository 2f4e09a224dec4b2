package main

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"sluice/config"
)

// kubeconfigFlags are the command line flags of kubeconfig.
type kubeconfigFlags struct {
	path, server, proxyURL, caFile, tlsServerName, output string
	contexts                                              []string
	all, restore, write                                   bool
}

func kubeconfigCommand() *cobra.Command {
	var f kubeconfigFlags
	c := &cobra.Command{
		Use:   "kubeconfig {--server URL | --proxy-url URL} [--ca-file FILE] | --restore",
		Short: "Print the kubeconfig with a cluster that points to Sluice, or back to its apiserver",
		Long: `Print the kubeconfig with the cluster of the current context pointing to Sluice: by --server to its API listener,
or by --proxy-url to its explicit proxy. Users and contexts stay. The cluster keeps the address of its apiserver in
an extension, from which --restore puts it back. Only --write changes the kubeconfig itself.`,
		Example: `  sluice kubeconfig --server https://127.0.0.1:8443 --ca-file ~/.local/state/sluice/ca.crt --write
  sluice kubeconfig --restore --write`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c.OutOrStdout()) },
	}
	set := c.Flags()
	set.StringVar(&f.path, "kubeconfig", "", "path of the kubeconfig; default: $KUBECONFIG, ~/.kube/config")
	set.StringArrayVar(&f.contexts, "context", nil, "context whose cluster changes; may be repeated")
	set.BoolVar(&f.all, "all", false, "change the clusters of all contexts; with --restore, that is the default")
	set.StringVar(&f.server, "server", "", "URL of Sluice's API listener, https://host:port")
	set.StringVar(&f.proxyURL, "proxy-url", "", "URL of Sluice's explicit proxy; clients keep the address of the apiserver")
	set.StringVar(&f.caFile, "ca-file", "",
		"CA of Sluice's serving certificate, which is embedded; without it the CA of the cluster stays")
	set.StringVar(&f.tlsServerName, "tls-server-name", "", "name in Sluice's serving certificate; default: the host of the server")
	set.BoolVar(&f.restore, "restore", false, "point clusters back to their apiservers")
	set.BoolVar(&f.write, "write", false, "change the kubeconfig file instead of printing it")
	set.StringVarP(&f.output, "output", "o", "", "path of a file of the owner alone to write, instead of printing it")
	return c
}

func (f *kubeconfigFlags) run(out io.Writer) error {
	if err := f.check(); err != nil {
		return err
	}
	if f.path != "" { // client-go takes a missing file for an empty one
		if _, err := os.Stat(f.path); err != nil {
			return fmt.Errorf("kubeconfig: %w", err)
		}
	}
	files := clientcmd.NewDefaultPathOptions()
	files.LoadingRules.ExplicitPath = f.path
	kubeconfig, err := files.GetStartingConfig()
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	if f.path == "" && len(kubeconfig.Clusters) == 0 {
		return errNoKubeconfig
	}
	names, err := f.clusters(kubeconfig)
	if err != nil {
		return err
	}
	if f.restore && len(names) == 0 {
		return no{errors.New("there is nothing to restore: no cluster of the kubeconfig points to Sluice")}
	}
	if !f.write { // the copy may be written anywhere
		if err := absolutePaths(kubeconfig); err != nil {
			return fmt.Errorf("kubeconfig: %w", err)
		}
	}
	change := f.redirect
	if f.restore {
		change = restoreCluster
	}
	for _, name := range names {
		if err := change(kubeconfig.Clusters[name]); err != nil {
			return fmt.Errorf("cluster %s: %w", name, err)
		}
	}
	if f.write {
		return clientcmd.ModifyConfig(files, *kubeconfig, true)
	}
	text, err := clientcmd.Write(*kubeconfig)
	if err != nil {
		return err
	}
	if f.output != "" {
		return errors.Join(os.WriteFile(f.output, text, 0o600), os.Chmod(f.output, 0o600)) // one that exists may be open to others
	}
	_, err = out.Write(text)
	return err
}

// absolutePaths makes the paths absolute that are relative to the folder of their file, in the clusters that --restore puts
// back, too.
func absolutePaths(c *clientcmdapi.Config) error {
	for name, cluster := range c.Clusters {
		original, err := originalOf(cluster)
		if err != nil {
			continue // nothing to restore
		}
		original.LocationOfOrigin = cluster.LocationOfOrigin
		if err := clientcmd.ResolveLocalPaths(&clientcmdapi.Config{Clusters: map[string]*clientcmdapi.Cluster{name: original}}); err != nil {
			return err
		}
		if err := saveOriginal(cluster, *original); err != nil {
			return err
		}
	}
	return clientcmd.ResolveLocalPaths(c)
}

// check returns an error about flags that do not go together, or have wrong values.
func (f *kubeconfigFlags) check() error {
	target := f.server != "" || f.proxyURL != ""
	switch {
	case f.restore && (target || f.caFile != "" || f.tlsServerName != ""):
		return errors.New("--restore takes no new target")
	case !f.restore && !target:
		return errors.New("name the way to Sluice with --server or --proxy-url, or the way back with --restore")
	case f.all && len(f.contexts) > 0:
		return errors.New("--all and --context exclude each other")
	case f.write && f.output != "":
		return errors.New("--write and --output exclude each other")
	}
	if f.server != "" {
		if u, err := url.Parse(f.server); err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" {
			return fmt.Errorf("--server: %q is not https://host:port", f.server)
		}
	}
	if f.proxyURL != "" {
		if u, err := url.Parse(f.proxyURL); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
			return errors.New("--proxy-url is not http://host:port or https://host:port") // it may hold a password
		}
	}
	return nil
}

// clusters returns the names of the clusters to change.
func (f *kubeconfigFlags) clusters(c *clientcmdapi.Config) ([]string, error) {
	contexts := f.contexts
	switch {
	case f.restore && len(contexts) == 0:
		var names []string
		for name, cluster := range c.Clusters {
			if cluster.Extensions[originalExtension] != nil {
				names = append(names, name)
			}
		}
		return names, nil
	case f.all:
		contexts = slices.Collect(maps.Keys(c.Contexts))
	case len(contexts) == 0 && c.CurrentContext == "":
		return nil, errors.New("kubeconfig: there is no current context; name one with --context")
	case len(contexts) == 0:
		contexts = []string{c.CurrentContext}
	}
	var names []string
	for _, name := range contexts {
		context := c.Contexts[name]
		if context == nil {
			return nil, fmt.Errorf("kubeconfig: no context %q", name)
		}
		if c.Clusters[context.Cluster] == nil {
			return nil, fmt.Errorf("kubeconfig: no cluster %q, which context %q names", context.Cluster, name)
		}
		names = append(names, context.Cluster)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// redirect points a cluster to Sluice.
func (f *kubeconfigFlags) redirect(cluster *clientcmdapi.Cluster) error {
	if cluster.Extensions[originalExtension] != nil { // from one way to another
		if err := restoreCluster(cluster); err != nil {
			return err
		}
	}
	if err := saveOriginal(cluster, *cluster); err != nil {
		return err
	}
	if f.server != "" {
		cluster.Server = f.server
	}
	cluster.ProxyURL, cluster.TLSServerName, cluster.InsecureSkipTLSVerify = f.proxyURL, f.tlsServerName, false
	if f.caFile == "" {
		return nil
	}
	ca, err := os.ReadFile(f.caFile)
	if err != nil {
		return err
	}
	if !x509.NewCertPool().AppendCertsFromPEM(ca) {
		return fmt.Errorf("%s holds no certificate", f.caFile)
	}
	cluster.CertificateAuthority, cluster.CertificateAuthorityData = "", ca
	return nil
}

// originalExtension is the name of the extension of a cluster with the fields that redirect has replaced.
const originalExtension = "sluice"

// originalCluster is that extension.
type originalCluster struct {
	APIVersion string               `json:"apiVersion"`
	Kind       string               `json:"kind"`
	Cluster    clientcmdapi.Cluster `json:"cluster"`
}

const originalKind = "OriginalCluster"

// saveOriginal puts a cluster, without its extensions, into an extension of another.
func saveOriginal(cluster *clientcmdapi.Cluster, original clientcmdapi.Cluster) error {
	original.Extensions = nil
	raw, err := json.Marshal(originalCluster{APIVersion: config.APIVersion, Kind: originalKind, Cluster: original})
	if err != nil {
		return err
	}
	if cluster.Extensions == nil {
		cluster.Extensions = map[string]runtime.Object{}
	}
	cluster.Extensions[originalExtension] = &runtime.Unknown{Raw: raw, ContentType: runtime.ContentTypeJSON}
	return nil
}

// originalOf returns the cluster that saveOriginal has put into an extension.
func originalOf(cluster *clientcmdapi.Cluster) (*clientcmdapi.Cluster, error) {
	if cluster.Extensions[originalExtension] == nil {
		return nil, errors.New("does not point to Sluice, or was not pointed there by this command")
	}
	var original originalCluster
	extension, ok := cluster.Extensions[originalExtension].(*runtime.Unknown)
	if !ok || json.Unmarshal(extension.Raw, &original) != nil || original.Kind != originalKind ||
		original.APIVersion != config.APIVersion {
		return nil, errors.New("its extension is not one of this command")
	}
	return &original.Cluster, nil
}

// restoreCluster points a cluster back to its apiserver.
func restoreCluster(cluster *clientcmdapi.Cluster) error {
	original, err := originalOf(cluster)
	if err != nil {
		return err
	}
	delete(cluster.Extensions, originalExtension)
	original.Extensions, original.LocationOfOrigin = cluster.Extensions, cluster.LocationOfOrigin
	*cluster = *original
	return nil
}
