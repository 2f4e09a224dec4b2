package main

import (
	"bytes"
	"strings"
	"testing"
)

// output runs a subcommand and returns what it prints to stdout and stderr.
func output(t *testing.T, args ...string) (string, error) {
	t.Helper()
	root := rootCommand()
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetErr(&out)
	root.SetArgs(args)
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

func TestConfigCheckReportsAllFiles(t *testing.T) {
	const head = "apiVersion: sluice/v1alpha1\nkind: Configuration\n"
	good, bad := writeFile(t, "good.yaml", head), writeFile(t, "bad.yaml", head+"listen: 1\nlog: {level: loud}\n")
	out, err := output(t, "config", "check", bad, good, "/none")
	if err == nil {
		t.Error("no error")
	}
	for _, want := range []string{bad + ":3:9: listen: must be a string", bad + ":4:14: log.level:", good + ": valid", "/none"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if out, err := output(t, "config", "check", good); err != nil || out != good+": valid\n" {
		t.Errorf("%v: %s", err, out)
	}
}

func TestConfigPrintsWhatConfigCheckAccepts(t *testing.T) {
	defaults, err := output(t, "config", "defaults")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := output(t, "config", "check", writeFile(t, "defaults.yaml", defaults)); err != nil {
		t.Error(out, err)
	}
	if schema, err := output(t, "config", "schema"); err != nil || !strings.Contains(schema, "json-schema.org") {
		t.Error(schema, err)
	}
}
