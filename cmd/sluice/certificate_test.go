package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
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

func TestCertificatePrintsASecretThatClientsOfTheConfigMapTrust(t *testing.T) {
	dir := t.TempDir()
	print := func(hosts ...string) (secret corev1.Secret, ca corev1.ConfigMap) {
		t.Helper()
		var out bytes.Buffer
		f := certificateFlags{dir: dir, secret: "s", configMap: "c", namespace: "n", hosts: hosts}
		if err := f.print(&out); err != nil {
			t.Fatal(err)
		}
		documents := strings.Split("\n"+out.String(), "\n---\n")
		for i, into := range []any{&secret, &ca} {
			if err := yaml.UnmarshalStrict([]byte(documents[i+1]), into); err != nil {
				t.Fatal(err)
			}
		}
		return secret, ca
	}
	_, trusted := print("first.example")
	secret, ca := print("sluice.sluice.svc", "10.0.0.1")
	if ca.Data["ca.crt"] != trusted.Data["ca.crt"] || string(secret.Data["ca.crt"]) != ca.Data["ca.crt"] {
		t.Error("the CA has changed")
	}
	if secret.Name != "s" || ca.Name != "c" || secret.Namespace != "n" || ca.Namespace != "n" || secret.Type != corev1.SecretTypeTLS {
		t.Errorf("%+v, %+v", secret.ObjectMeta, ca.ObjectMeta)
	}
	pair, err := tls.X509KeyPair(secret.Data["tls.crt"], secret.Data["tls.key"])
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(trusted.Data["ca.crt"]))
	for _, host := range []string{"sluice.sluice.svc", "10.0.0.1"} {
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: host}); err != nil {
			t.Error(err)
		}
	}
	var only bytes.Buffer
	f := certificateFlags{dir: dir, configMap: "c", namespace: "n", hosts: []string{"10.0.0.1"}, onlyCA: true}
	if err := f.print(&only); err != nil || strings.Contains(only.String(), "Secret") || !strings.Contains(only.String(), "ConfigMap") {
		t.Errorf("only the CA: %v\n%s", err, &only)
	}
	if err := runWith(t.Context(), []string{"certificate"}); err == nil || !strings.Contains(err.Error(), "--host") {
		t.Errorf("without hosts: %v", err)
	}
}
