package cluster

import (
	"fmt"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	code, err := 0, error(nil)
	switch stage := os.Getenv(stageVariable); {
	case stage == guardStage:
		code, err = guard()
	case stage == initStage:
		code, err = runInit()
	case stage == "" && lacking() == "":
		code, err = enter()
	default: // inside, or all tests will be skipped
		code = m.Run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
	}
	os.Exit(code)
}

// make test-cluster builds nothing when this test is skipped.
func TestRequirements(t *testing.T) { requireNode(t) }

// requireNode skips a test outside of the sandbox.
func requireNode(t *testing.T) {
	t.Helper()
	if os.Getenv(stageVariable) != insideStage {
		t.Skip(lacking())
	}
}
