package main

import (
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"sluice/test/harness"
)

// commands is printed once everything runs. Each command can be copied as it stands.
var commands = template.Must(template.New("commands").Parse(`
Sluice serves {{.Sluice}} in front of the apiserver at {{.Apiserver}}.
In another terminal, in this directory, try:

  {{.Kubectl}} get pods -A
  {{.Kubectl}} get pods -n shop -w
  {{.Kubectl}} get backups -A -o wide
  {{.Kubectl}} get service -n search -o yaml
  {{.Kubectl}} rollout restart deployment -n {{.App.Namespace}} {{.App.Name}}

A list from the cache (the header Sluice-Source says so), a streaming list with the changes that follow,
and Sluice's own health and metrics:

  {{.Curl}} -i '{{.Sluice}}/api/v1/namespaces/shop/pods?resourceVersion=0'
  {{.Curl}} -N '{{.Sluice}}/apis/storage.example.com/v1/backups?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true'
  curl -s '{{.Admin}}/readyz?verbose'
  curl -s '{{.Admin}}/metrics'

The same commands with {{.Direct}} go to the apiserver directly.
{{.Watchers}} clients already watch through Sluice. Ctrl-C stops everything.

`))

// places are the addresses and files in the commands.
type places struct {
	Sluice, Apiserver, Admin string // addresses
	Kubectl, Curl            string // with the flags that point them to Sluice
	Direct                   string // kubeconfig of the apiserver
	App                      struct{ Namespace, Name string }
	Watchers                 int
}

func (d *demo) kubeconfig() string { return d.dir.file("sluice-admin.kubeconfig") }
func (d *demo) token() string      { return d.dir.file("sluice-admin.token") }

// writeCredentials writes the kubeconfig and token for clients of Sluice.
func (d *demo) writeCredentials() error {
	if err := d.sluice.WriteKubeconfig(d.kubeconfig(), "admin"); err != nil {
		return err
	}
	return os.WriteFile(d.token(), []byte(d.plane.RESTConfig("admin").BearerToken), 0o600)
}

func (d *demo) printCommands(s *samples) error {
	kubectl, err := harness.Binary("kubectl")
	if err != nil {
		return err
	}
	p := places{
		Sluice: d.sluice.URL, Apiserver: d.plane.URL, Admin: d.sluice.Admin,
		Kubectl: near(kubectl) + " --kubeconfig " + near(d.kubeconfig()),
		Curl: "curl -s --cacert " + near(filepath.Join(d.sluice.Dir, "ca.crt")) +
			` -H "Authorization: Bearer $(cat ` + near(d.token()) + `)"`,
		Direct:   near(d.plane.Kubeconfig("admin")),
		Watchers: d.options.watchers,
	}
	p.App.Namespace, p.App.Name = s.pods[0].Namespace, s.pods[0].Labels[nameLabel]
	return commands.Execute(d.out, p)
}

// near returns path relative to the working directory if it is below it.
func near(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(here, path); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return path
}
