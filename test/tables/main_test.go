package tables

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"sluice/test/harness"
)

// server has the objects of testdata before the first test runs.
var server *harness.ControlPlane

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		os.Exit(0) // every test needs the apiserver
	}
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	server, err = harness.StartMain(harness.Options{Flags: []string{
		"--runtime-config=api/all=true",
		"--feature-gates=AllAlpha=true,AllBeta=true",
	}})
	if err != nil {
		return 1, err
	}
	defer func() {
		if stopErr := server.Stop(); err == nil {
			err = stopErr
		}
	}()
	if err := fill(); err != nil {
		return 1, err
	}
	return m.Run(), nil
}
