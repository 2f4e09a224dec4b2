package wire

import (
	"fmt"
	"math"
	"net/http"
	"testing"

	"sluice/test/harness"
)

// That refusal and delay silence a Link shows in the test of faults.
func TestLinkCutsAtLeastOneConnectionAndWorksAfterRestore(t *testing.T) {
	link, through := StartLink(t, startOrigin(t))
	clients := []*harness.RawClient{harness.RawClientFor(t, through), harness.RawClientFor(t, through)}
	connections := func() int64 {
		for _, c := range clients {
			c.AwaitStatus(t, http.StatusOK, harness.Request{Path: "/", HTTP1: true})
		}
		return link.Accepted.Load()
	}
	if n := connections(); n != 2 {
		t.Fatalf("two clients have %d connections", n)
	}
	link.Cut(0)
	harness.Eventually(t, "a client connects again", func() error {
		if n := connections(); n < 3 {
			return fmt.Errorf("%d connections", n)
		}
		return nil
	})
	if n := connections(); n != 3 {
		t.Errorf("%d connections after one was cut, want 3", n)
	}
	link.Refuse()
	link.Delay(math.MaxInt64)
	link.Restore()
	connections()
}
