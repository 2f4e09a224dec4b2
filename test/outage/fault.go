package outage

import (
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"sluice/test/harness"
)

// Fault is a way in which an apiserver goes away.
type Fault struct {
	Name string
	// Begin takes the apiserver away, and returns a function that brings it back.
	Begin func(t testing.TB, plane *harness.ControlPlane) (end func())
	// Lacking is why the fault cannot be made here; empty if it can.
	Lacking  string
	restarts bool // the apiserver comes back without its history, so that watches may have to begin again
}

// Faults returns all faults. The last one drops the packets that match one of the rules of iptables.
func Faults(matches ...string) []Fault {
	return []Fault{
		{Name: "Frozen", Begin: freeze},
		{Name: "Closed", restarts: true, Begin: func(t testing.TB, plane *harness.ControlPlane) func() {
			plane.Kill()
			return func() { plane.Restart(t) }
		}},
		{Name: "Dropped", Lacking: iptablesLacking(), Begin: func(t testing.TB, _ *harness.ControlPlane) func() {
			return drop(t, matches)
		}},
	}
}

// freeze stops the process of the apiserver, which accepts connections then and answers nothing.
func freeze(t testing.TB, plane *harness.ControlPlane) func() {
	if err := plane.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := plane.Signal(syscall.SIGCONT); err != nil {
			t.Error(err)
		}
	}
}

// drop drops packets without a word to their sender.
func drop(t testing.TB, matches []string) func() {
	for _, m := range matches {
		if out, err := iptables("-I", m); err != nil {
			t.Fatalf("iptables: %v: %s", err, out)
		}
	}
	return func() {
		for _, m := range matches {
			if out, err := iptables("-D", m); err != nil {
				t.Errorf("iptables: %v: %s", err, out)
			}
		}
	}
}

func iptables(change, match string) ([]byte, error) {
	args := append([]string{"-w", change, "OUTPUT"}, strings.Fields(match)...)
	return exec.Command("iptables", append(args, "-j", "DROP")...).CombinedOutput()
}

// iptablesLacking returns why no packets can be dropped here; empty if they can.
var iptablesLacking = sync.OnceValue(func() string {
	if out, err := exec.Command("iptables", "-w", "-S", "OUTPUT").CombinedOutput(); err != nil {
		return "packets cannot be dropped here: iptables: " + err.Error() + ": " + strings.TrimSpace(string(out))
	}
	return ""
})
