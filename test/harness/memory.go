package harness

import (
	"bytes"
	"fmt"
	"os"
)

// PeakMemory returns the peak resident memory of the gateway's process (VmHWM), in bytes.
func (s *Sluice) PeakMemory() (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.PID()))
	if err != nil {
		return 0, err
	}
	_, rest, _ := bytes.Cut(status, []byte("VmHWM:"))
	var kilobytes int64
	if _, err := fmt.Sscan(string(rest), &kilobytes); err != nil {
		return 0, fmt.Errorf("VmHWM of %s: %w", status, err)
	}
	return kilobytes << 10, nil
}
