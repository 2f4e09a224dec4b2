package clients

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
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

// startCommand starts a program and returns its output, with stderr unless that goes elsewhere. The end of the test kills it.
func startCommand(t *testing.T, cmd *exec.Cmd) *bufio.Reader {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if cmd.Stderr == nil {
		cmd.Stderr = cmd.Stdout
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return bufio.NewReader(out)
}

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
