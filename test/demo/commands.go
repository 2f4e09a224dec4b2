package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"sluice/test/harness"
)

// commands is printed once everything runs. Each command can be copied as it stands, after the first.
var commands = template.Must(template.New("commands").Parse(`
Sluice serves {{.Sluice}} in front of the apiserver at {{.Apiserver}}.
In another terminal, try:

  . {{.Env}}    # kubectl now talks to Sluice
  kubectl get pods -A --chunk-size=0
  kubectl get pods -n shop -w
  kubectl get backups -A -o wide
  kubectl rollout restart deployment -n {{.App.Namespace}} {{.App.Name}}
  kubectl get pods -A --kubeconfig $DIRECT    # the same, from the apiserver

The first is one list, which comes from the cache. Without --chunk-size=0, kubectl reads pages of 500 objects; the first of
them costs the apiserver less than a proof, and passes.

A list from the cache (the header Sluice-Source says so), a streaming list with the changes that follow,
and Sluice's own health and metrics:

  curl -sD - -o /dev/null --compressed --cacert $CA -H @$TOKEN $SLUICE/api/v1/pods
  curl -sN --cacert $CA -H @$TOKEN "$SLUICE/apis/storage.example.com/v1/backups?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
  curl -s "$SLUICE_ADDRESS/readyz?verbose"
  curl -s $SLUICE_ADDRESS/metrics

Its status page, for a browser, is {{.Admin}}. The same in a terminal:

  sluice status
  sluice clients --watch

{{.Watchers}} clients already watch through Sluice, and {{.Listers}} list. Below is what all clients ask of Sluice, and what
Sluice asks of the apiserver to answer them. Ctrl-C stops everything.

`))

// places are what the commands mention.
type places struct {
	Sluice, Apiserver string // addresses
	Admin             string
	Env               string // file that sets the variables of the commands
	App               struct{ Namespace, Name string }
	Watchers, Listers int
}

func (d *demo) printCommands(s *samples) error {
	p := places{
		Sluice: d.sluice.URL, Apiserver: d.plane.URL, Admin: d.sluice.Admin, Env: d.env(),
		Watchers: d.options.watchers, Listers: listers,
	}
	p.App.Namespace, p.App.Name = s.pods[0].Namespace, s.pods[0].Labels[nameLabel]
	return commands.Execute(d.out, p)
}

// env is the file that points a shell to Sluice.
func (d *demo) env() string { return d.file("env") }

// writeEnv writes the environment of the commands, and the files that it names. It contains no credentials,
// but their paths.
func (d *demo) writeEnv() error {
	kubectl, err := harness.Binary("kubectl")
	if err != nil {
		return err
	}
	kubeconfig, token := d.file("sluice-admin.kubeconfig"), d.file("token-header")
	if err := harness.WriteKubeconfig(kubeconfig, d.sluice.RESTConfig("admin")); err != nil {
		return err
	}
	if err := os.WriteFile(token, []byte("Authorization: Bearer "+d.plane.RESTConfig("admin").BearerToken), 0o600); err != nil {
		return err
	}
	var env strings.Builder
	for _, v := range [][2]string{
		{"KUBECONFIG", kubeconfig}, {"DIRECT", d.plane.Kubeconfig("admin")}, {"CA", filepath.Join(d.sluice.Dir, "ca.crt")},
		{"TOKEN", token}, {"SLUICE", d.sluice.URL}, {"SLUICE_ADDRESS", d.sluice.Admin},
	} {
		fmt.Fprintf(&env, "export %s=%s\n", v[0], quote(v[1]))
	}
	fmt.Fprintf(&env, "export PATH=%s:$PATH\n", quote(filepath.Dir(kubectl)))
	return os.WriteFile(d.env(), []byte(env.String()), 0o600)
}

// quote returns a word of the shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
