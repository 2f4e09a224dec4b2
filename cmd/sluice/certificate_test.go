package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"sluice/config"
)

func TestServeLogsWhetherItsCertificateIsNew(t *testing.T) {
	file := &config.File{}
	file.Default()
	file.TLS.CertDir = t.TempDir()
	for _, want := range []string{"serving certificate issued", "serving certificate reused"} {
		core, logs := observer.New(zap.InfoLevel)
		if _, err := (&components{}).servingTLS(file, zap.New(core), newMetrics()); err != nil {
			t.Fatal(err)
		}
		if logs.Len() != 1 || logs.All()[0].Message != want {
			t.Errorf("logged %v, want %q", logs.All(), want)
		}
	}
}

func TestCertificatePrintsTheCAThatPodsIssueBy(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	print := func(only bool) []string {
		t.Helper()
		t.Chdir(t.TempDir()) // the CA is the same everywhere
		out, err := output(t, "certificate", "--name=a", "--namespace=n", fmt.Sprint("--only-ca=", only))
		if err != nil || readFile(t, filepath.Join(state, "sluice", "a", "ca.crt")) == "" {
			t.Fatal(err)
		}
		return strings.Split("\n"+out, "\n---\n")[1:]
	}
	if out, err := output(t, "certificate", "--name=a", "--only-ca"); err == nil || out != "" {
		t.Errorf("another CA where there is none: %v, %q", err, out)
	}
	var secret corev1.Secret
	var ca corev1.ConfigMap
	for i, into := range []any{&secret, &ca} {
		if err := yaml.UnmarshalStrict([]byte(print(false)[i]), into); err != nil {
			t.Fatal(err)
		}
	}
	if secret.Name != "a" || ca.Name != "a" || secret.Namespace != "n" || ca.Namespace != "n" || secret.Type != corev1.SecretTypeTLS {
		t.Errorf("%+v, %+v", secret.ObjectMeta, ca.ObjectMeta)
	}
	if string(secret.Data["ca.crt"]) != ca.Data["ca.crt"] || string(secret.Data["tls.crt"]) != ca.Data["ca.crt"] {
		t.Error("the Secret and the ConfigMap have different CAs")
	}
	if only := print(true); len(only) != 1 || !strings.Contains(only[0], "ConfigMap") {
		t.Errorf("only the CA: %q", only)
	}

	pod := t.TempDir() // as the Deployment mounts the Secret
	for name, key := range map[string]string{"ca.crt": "tls.crt", "ca.key": "tls.key"} {
		if err := os.WriteFile(filepath.Join(pod, name), secret.Data[key], 0o400); err != nil {
			t.Fatal(err)
		}
	}
	file := &config.File{TLS: config.TLS{CertDir: pod, Hosts: []string{"sluice.sluice.svc", "10.0.0.1"}}}
	file.Default()
	serving, err := (&components{}).servingTLS(file, zap.NewNop(), newMetrics())
	if err != nil {
		t.Fatal(err)
	}
	pair, err := serving.GetCertificate(&tls.ClientHelloInfo{})
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(ca.Data["ca.crt"]))
	for _, host := range file.TLS.Hosts {
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: host}); err != nil {
			t.Error(err)
		}
	}
}
