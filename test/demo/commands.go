package main

import (
	"fmt"
	"os"
	"path/filepath"

	"sluice/test/harness"
)

// commands is printed once everything runs. Each command can be copied as it stands, after the first.
const commands = `
Sluice serves %s in front of the apiserver at %s.
In another terminal, try:

  . %s    # kubectl now talks to Sluice
  kubectl get pods -A --chunk-size=0
  kubectl get pods -n shop -w
  kubectl get backups -A -o wide
  kubectl label pods -n shop --all tried=yes
  kubectl get pods -A --kubeconfig $DIRECT    # the same, from the apiserver

The first is one list, which comes from the cache. Without --chunk-size=0, kubectl reads pages of 500 objects; the first of
them costs the apiserver less than a proof, and passes.

A list from the cache (the header Sluice-Source says so), a streaming list with the changes that follow,
and Sluice's own health and metrics:

  curl -sD - -o /dev/null --compressed --cacert $CA -H @$TOKEN $SLUICE/api/v1/pods
  curl -sN --cacert $CA -H @$TOKEN "$SLUICE/apis/storage.example.com/v1/backups?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
  curl -s "$SLUICE_ADDRESS/readyz?verbose"
  curl -s $SLUICE_ADDRESS/metrics

Its status page, for a browser, is %s. The same in a terminal:

  sluice status
  sluice clients --watch

%d clients already watch through Sluice, and %d list. Below is what all clients ask of Sluice, and what
Sluice asks of the apiserver to answer them. Ctrl-C stops everything.

`

func (d *demo) printCommands() {
	fmt.Printf(commands, d.sluice.URL, d.plane.URL, d.env(), d.sluice.Admin, watchers, listers)
}

// env is the file that points a shell to Sluice.
func (d *demo) env() string { return filepath.Join(d.dir, "env") }

// writeEnv writes the environment of the commands, and the files that it names. It contains no credentials,
// but their paths.
func (d *demo) writeEnv() error {
	kubectl, err := harness.Binary("kubectl")
	if err != nil {
		return err
	}
	kubeconfig, token := filepath.Join(d.dir, "admin.kubeconfig"), filepath.Join(d.dir, "token-header")
	if err := harness.WriteKubeconfig(kubeconfig, d.sluice.RESTConfig("admin")); err != nil {
		return err
	}
	if err := os.WriteFile(token, []byte("Authorization: Bearer "+d.plane.RESTConfig("admin").BearerToken), 0o600); err != nil {
		return err
	}
	env := ""
	for _, v := range [][2]string{
		{"KUBECONFIG", kubeconfig}, {"DIRECT", d.plane.Kubeconfig("admin")}, {"CA", filepath.Join(d.dir, "ca.crt")},
		{"TOKEN", token}, {"SLUICE", d.sluice.URL}, {"SLUICE_ADDRESS", d.sluice.Admin}, {"PATH", filepath.Dir(kubectl) + ":$PATH"},
	} {
		env += fmt.Sprintf("export %s=%q\n", v[0], v[1])
	}
	return os.WriteFile(d.env(), []byte(env), 0o600)
}
