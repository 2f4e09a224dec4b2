package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestVerifyRefusesWrongFlags(t *testing.T) {
	for args, want := range map[string]string{
		"verify":                                     "--conformance",
		"verify --conformance -o yaml":               "neither text nor json",
		"verify --conformance --idle 0s":             "at least 1s",
		"verify --conformance --kubeconfig /nowhere": "kubeconfig",
		"verify --conformance pods":                  "unknown command",
	} {
		if err := runWith(t.Context(), strings.Fields(args)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}

// TestVerifyFindsTheOtherEndpoint by the name of a context, by a file, and by a URL.
func TestVerifyFindsTheOtherEndpoint(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := `
apiVersion: v1
kind: Config
clusters:
- {name: gateway, cluster: {server: "https://gateway.example.com/k8s"}}
- {name: direct, cluster: {server: "https://direct.example.com"}}
contexts:
- {name: gateway, context: {cluster: gateway, namespace: team}}
- {name: direct, context: {cluster: direct}}
current-context: gateway
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for against, want := range map[string]string{
		"direct":                 "https://direct.example.com",
		path:                     "https://gateway.example.com/k8s",
		"https://10.0.0.1:6443/": "https://10.0.0.1:6443",
	} {
		f := verifyFlags{kubeconfig: path, against: against}
		if err := f.connect(); err != nil {
			t.Fatal(err)
		}
		o := f.options
		if o.Target.Endpoint != "https://gateway.example.com/k8s" || o.Namespace != "team" || o.Against.Endpoint != want {
			t.Errorf("%s: %s in %s against %s, want %s", against, o.Target.Endpoint, o.Namespace, o.Against.Endpoint, want)
		}
	}
	f := verifyFlags{kubeconfig: path, against: "elsewhere"}
	if err := f.connect(); err == nil || !strings.Contains(err.Error(), "--against") {
		t.Errorf("neither a context nor a file: %v", err)
	}
}
