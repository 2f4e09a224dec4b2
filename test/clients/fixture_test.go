package clients

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"testing"

	"sluice/test/harness"
)

// plane and sluice are shared by the tests that do not break them.
var (
	plane  *harness.ControlPlane
	sluice *harness.Sluice

	// ownWatches is how often the apiserver watches pods for its own ends: its
	// node authorizer does.
	ownWatches float64
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	if plane, err = harness.StartMain(); err != nil {
		return 0, err
	}
	defer plane.Stop()
	if ownWatches, err = podWatches(context.Background()); err != nil {
		return 0, err
	}
	if sluice, err = plane.StartSluiceMain(); err != nil {
		return 0, err
	}
	code = m.Run()
	if err = sluice.Stop(); err != nil || code != 0 {
		fmt.Fprintln(os.Stderr, sluice.Log())
	}
	return code, err
}

// sum returns the sum of the samples of a metric whose labels contain all
// of the given texts, as the admin listener or an apiserver prints them.
func sum(exposition []byte, name string, labels ...string) float64 {
	total := 0.0
	for line := range bytes.Lines(exposition) {
		rest, ok := bytes.CutPrefix(line, []byte(name+"{"))
		if !ok {
			continue
		}
		end := bytes.LastIndexByte(rest, '}')
		if end < 0 || !containsAll(rest[:end], labels) {
			continue
		}
		var v float64
		if _, err := fmt.Sscan(string(rest[end+1:]), &v); err == nil {
			total += v
		}
	}
	return total
}

func containsAll(text []byte, parts []string) bool {
	for _, p := range parts {
		if !bytes.Contains(text, []byte(p)) {
			return false
		}
	}
	return true
}

// podWatches is the apiserver's own count of open pod watches.
func podWatches(ctx context.Context) (float64, error) {
	a, err := plane.Raw("admin").Get(ctx, "/metrics", "text/plain")
	if err != nil {
		return 0, err
	}
	return sum(a.Body, "apiserver_longrunning_requests", `resource="pods"`, `verb="WATCH"`), nil
}
