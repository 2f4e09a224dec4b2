package clients

import (
	"context"
	"fmt"
	"os"
	"testing"

	"sluice/test/harness"
)

// apiserver and sluice are shared by the tests that do not restart them.
var (
	apiserver *harness.ControlPlane
	sluice    *harness.Sluice

	// ownWatches is the number of pod watches that the apiserver opens itself, for the node authorizer.
	ownWatches int
)

func TestMain(m *testing.M) { harness.Main(m, 0, run) }

func run(m *testing.M) (code int, err error) {
	if apiserver, err = harness.StartMain(); err != nil {
		return 0, err
	}
	defer apiserver.Stop()
	if ownWatches, err = apiserver.PodWatches(context.Background()); err != nil {
		return 0, err
	}
	if sluice, err = apiserver.StartSluiceMain(); err != nil {
		return 0, err
	}
	code = m.Run()
	if err = sluice.Stop(); err != nil || code != 0 {
		fmt.Fprintln(os.Stderr, sluice.Log())
	}
	return code, err
}
