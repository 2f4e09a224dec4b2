package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"sluice/config"
	"sluice/proxy/certs"
)

// certificateFlags are the command line flags of certificate.
type certificateFlags struct {
	dir, name, namespace string
	onlyCA               bool
}

func certificateCommand() *cobra.Command {
	var f certificateFlags
	c := &cobra.Command{
		Use:   "certificate",
		Short: "Make a CA for serving certificates, and print it for kubectl apply",
		Long: `Make a CA in --cert-dir, unless there is one, and print it as a Secret and a ConfigMap. By the Secret each pod of
Sluice issues its own serving certificate, for 90 days, and renews it. Clients must trust the CA in the ConfigMap.`,
		Example: `  sluice certificate | kubectl apply -f -
  sluice certificate --only-ca --namespace inventory`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.print(c.OutOrStdout()) },
	}
	set := c.Flags()
	set.StringVar(&f.dir, "cert-dir", "", "directory of the CA (default $XDG_STATE_HOME/sluice/NAME or ~/.local/state/sluice/NAME)")
	set.StringVar(&f.name, "name", "sluice-ca", "NAME of the Secret, of the ConfigMap and of the CA")
	set.StringVar(&f.namespace, "namespace", "sluice", "namespace of both")
	set.BoolVar(&f.onlyCA, "only-ca", false, "print only the ConfigMap, for a namespace of clients")
	return c
}

// print makes the CA and writes the objects as YAML.
func (f *certificateFlags) print(w io.Writer) error {
	if f.dir == "" { // a CA stays the same, wherever the command is run
		state, err := config.TLS{}.Dir()
		if err != nil {
			return err
		}
		f.dir = filepath.Join(state, f.name)
	}
	if _, err := os.Stat(filepath.Join(f.dir, "ca.crt")); f.onlyCA && err != nil {
		return fmt.Errorf("no CA to print: run sluice certificate, or name its directory with --cert-dir: %w", err)
	}
	certFile, keyFile, err := certs.EnsureCA(f.dir)
	if err != nil {
		return err
	}
	var cert, key []byte
	for path, into := range map[string]*[]byte{certFile: &cert, keyFile: &key} {
		if *into, err = os.ReadFile(path); err != nil {
			return err
		}
	}
	meta := metav1.ObjectMeta{Name: f.name, Namespace: f.namespace, Labels: map[string]string{"app.kubernetes.io/name": "sluice"}}
	objects := []any{
		&corev1.Secret{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: meta, Type: corev1.SecretTypeTLS,
			Data: map[string][]byte{corev1.TLSCertKey: cert, corev1.TLSPrivateKeyKey: key, "ca.crt": cert},
		},
		&corev1.ConfigMap{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: meta,
			Data: map[string]string{"ca.crt": string(cert)},
		},
	}
	if f.onlyCA {
		objects = objects[1:]
	}
	for _, object := range objects {
		text, err := yaml.Marshal(object)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "---\n%s", text); err != nil {
			return err
		}
	}
	return nil
}
