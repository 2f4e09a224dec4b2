package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"sluice/proxy/certs"
)

// certificateFlags are the command line flags of certificate.
type certificateFlags struct {
	dir, secret, configMap, namespace string
	hosts                             []string
	onlyCA                            bool
}

func certificateCommand() *cobra.Command {
	var f certificateFlags
	c := &cobra.Command{
		Use:   "certificate --host NAME...",
		Short: "Issue a serving certificate, and print it as a Secret for kubectl apply",
		Long: `Issue a serving certificate from the CA in --cert-dir, which is created if it does not exist. The output is a
Secret with the certificate and its key, and a ConfigMap with the CA that clients must trust. Run it again with
the same directory to renew the certificate: clients go on trusting it.`,
		Example: `  sluice certificate --host sluice.sluice.svc --host 10.0.0.20 > sluice-tls.yaml
  sluice certificate --host sluice.sluice.svc --only-ca --namespace inventory`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.print(c.OutOrStdout()) },
	}
	set := c.Flags()
	set.StringVar(&f.dir, "cert-dir", "sluice-certs", "directory of the CA and the certificate")
	set.StringVar(&f.secret, "secret", "sluice-tls", "name of the Secret")
	set.StringVar(&f.configMap, "ca-config-map", "sluice-ca", "name of the ConfigMap")
	set.StringVar(&f.namespace, "namespace", "sluice", "namespace of both")
	set.StringArrayVar(&f.hosts, "host", nil, "DNS name or IP address by which clients reach Sluice; may be repeated")
	set.BoolVar(&f.onlyCA, "only-ca", false, "print only the ConfigMap, for a namespace of clients")
	return c
}

// print issues the certificate and writes the objects as YAML.
func (f *certificateFlags) print(w io.Writer) error {
	if len(f.hosts) == 0 {
		return errors.New("name each DNS name and IP address by which clients reach Sluice with --host")
	}
	files, err := certs.Ensure(f.dir, f.hosts)
	if err != nil {
		return err
	}
	var ca, cert, key []byte
	for path, into := range map[string]*[]byte{files.CA: &ca, files.Cert: &cert, files.Key: &key} {
		if *into, err = os.ReadFile(path); err != nil {
			return err
		}
	}
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: name, Namespace: f.namespace, Labels: map[string]string{"app.kubernetes.io/name": "sluice"}}
	}
	objects := []any{
		&corev1.Secret{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: meta(f.secret), Type: corev1.SecretTypeTLS,
			Data: map[string][]byte{corev1.TLSCertKey: cert, corev1.TLSPrivateKeyKey: key, "ca.crt": ca},
		},
		&corev1.ConfigMap{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: meta(f.configMap),
			Data: map[string]string{"ca.crt": string(ca)},
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
