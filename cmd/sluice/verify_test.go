package main

import (
	"strings"
	"testing"

	"sluice/cmd/sluice/compare"
)

// TestVerifyPrintsNothingThatControlsTheTerminal: names of some objects are any text.
func TestVerifyPrintsNothingThatControlsTheTerminal(t *testing.T) {
	r := compare.Result{Resource: "pods.v1", ResourceVersion: "7", Objects: 2}
	for range mostDifferences + 1 {
		r.Missing = append(r.Missing, compare.Difference{Name: "\x1b[2J", Apiserver: "6"})
	}
	out := differencesText(&compare.Verification{Items: []compare.Result{r}})
	for _, want := range []string{"pods.v1: DIFFERENT at version 7: 2 objects, 101 missing, 0 extra", "?[2J  version –, at the apiserver 6", "1 more"} {
		if !strings.Contains(out, want) || strings.Contains(out, "\x1b") {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// TestVerifyFindsTheOtherEndpoint by the name of a context, by a file, and by a URL.
func TestVerifyFindsTheOtherEndpoint(t *testing.T) {
	path := writeFile(t, "kubeconfig", `
apiVersion: v1
kind: Config
clusters:
- {name: gateway, cluster: {server: "https://gateway.example.com/k8s"}}
- {name: direct, cluster: {server: "https://direct.example.com"}}
contexts:
- {name: gateway, context: {cluster: gateway, namespace: team}}
- {name: direct, context: {cluster: direct}}
current-context: gateway
`)
	for against, want := range map[string]string{
		"direct":                 "https://direct.example.com",
		path:                     "https://gateway.example.com/k8s",
		"https://10.0.0.1:6443/": "https://10.0.0.1:6443",
	} {
		f := verifyFlags{kubeconfig: path, against: against}
		sluice, apiserver, err := f.endpoints()
		if err != nil {
			t.Fatal(err)
		}
		if sluice.Host != "https://gateway.example.com/k8s" || strings.TrimSuffix(apiserver.Host, "/") != want {
			t.Errorf("%s: %s against %s, want %s", against, sluice.Host, apiserver.Host, want)
		}
	}
	f := verifyFlags{kubeconfig: path, against: "elsewhere"}
	if _, _, err := f.endpoints(); err == nil || !strings.Contains(err.Error(), "--against") {
		t.Errorf("neither a context nor a file: %v", err)
	}
}

// TestVerifyComparesWithTheApiserverThatWasNoted by sluice kubeconfig, if there is no --against.
func TestVerifyComparesWithTheApiserverThatWasNoted(t *testing.T) {
	path := kubeconfigFor(t, "https://direct.example.com", "")
	f := verifyFlags{kubeconfig: path}
	if _, err := f.noted(loadKubeconfig(path, "")); err == nil || !strings.Contains(err.Error(), "--against") {
		t.Errorf("nothing is noted: %v", err)
	}
	if _, code := execute(t, "kubeconfig", "--kubeconfig", path, "--server", "https://sluice.example.com", "--write"); code != 0 {
		t.Fatal(code)
	}
	target := loadKubeconfig(path, "")
	sluice, err := target.ClientConfig()
	if err != nil {
		t.Fatal(err)
	}
	if apiserver, err := f.noted(target); err != nil || apiserver.Host != "https://direct.example.com" || sluice.Host != "https://sluice.example.com" {
		t.Errorf("%v %v %v", sluice.Host, apiserver, err)
	}
}
