package storage

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"sluice/test/harness"
)

var (
	server  *harness.ControlPlane
	gateway *harness.Sluice
)

// cachesAll caches also what is excluded by default.
const cachesAll = "apiVersion: sluice/v1alpha1\nkind: Configuration\ncache: {exclude: [nothing], secrets: true}\n"

func TestMain(m *testing.M) { harness.Main(m, 0, run) }

func run(m *testing.M) (code int, err error) {
	if testing.Short() {
		return 0, nil // every test needs the apiserver
	}
	server, err = harness.StartMain(harness.Options{Flags: []string{
		"--runtime-config=api/all=true",
		"--feature-gates=AllAlpha=true,AllBeta=true", // also CBOR
	}})
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	gateway, err = server.StartSluiceMain(harness.SluiceOptions{
		Binary: "sluice",
		Config: cachesAll,
	})
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, gateway.Stop(), os.RemoveAll(gateway.Dir)) }()
	if code = m.Run(); code != 0 {
		fmt.Fprintln(os.Stderr, server.Logs())
	}
	return code, nil
}
