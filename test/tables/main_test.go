package tables

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"sluice/test/harness"
)

// server has the objects of testdata before the first test runs.
var server *harness.ControlPlane

func TestMain(m *testing.M) { harness.Main(m, 0, run) }

func run(m *testing.M) (code int, err error) {
	if testing.Short() {
		return 0, nil // every test needs the apiserver
	}
	server, err = harness.StartMain(harness.Options{Flags: []string{
		"--runtime-config=api/all=true",
		"--feature-gates=AllAlpha=true,AllBeta=true",
	}})
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	if err := fill(); err != nil {
		if os.Getenv("CONTROLPLANE") == "" {
			return 1, err
		}
		fmt.Println("not of this release:", err)
	}
	return m.Run(), nil
}
