package peers

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/test/harness"
)

// cost is what something cost the apiserver.
type cost struct {
	cpu   time.Duration // of the apiserver and its etcd
	bytes int64         // that the apiserver answered
}

// measure returns what an act cost whose connections to the apiserver go through a relay.
func (e *env) measure(t *testing.T, r *harness.Relay, act func()) cost {
	t.Helper()
	begin := cost{cpuOf(t, e.plane.PID()), r.Answered.Load()}
	act()
	return cost{cpuOf(t, e.plane.PID()) - begin.cpu, r.Answered.Load() - begin.bytes}
}

// cpuOf returns the CPU time that a process has used.
func cpuOf(t *testing.T, pid int) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:])) // from the third on
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond // USER_HZ is 100 on every Linux
}

func (c cost) String() string {
	return fmt.Sprintf("%.2f s, %s", c.cpu.Seconds(), size(c.bytes))
}

func size(bytes int64) string {
	if bytes < 1e6 {
		return fmt.Sprintf("%d kB", (bytes+500)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(bytes)/1e6)
}

// sources counts the requests of a peer by where Sluice took the answers from, and why.
type sources map[string]float64

// sourcesOf returns the requests that Sluice has finished.
func sourcesOf(t *testing.T, s *harness.Sluice) sources {
	t.Helper()
	metrics, err := s.Metrics()
	if err != nil {
		t.Fatal(err)
	}
	found := sources{}
	for _, sample := range metrics.Samples("sluice_request_total") {
		found[sample.Labels["source"]+" "+sample.Labels["reason"]] += sample.Value
	}
	return found
}

// since returns the requests since a time before.
func (s sources) since(before sources) sources {
	later := sources{}
	for key, n := range s {
		if n > before[key] {
			later[key] = n - before[key]
		}
	}
	return later
}

// from returns how many requests have a source, and their reasons, the most frequent first.
func (s sources) from(source string) (total int, reasons string) {
	type reason struct {
		name string
		n    float64
	}
	var found []reason
	for key, n := range s {
		if name, ok := strings.CutPrefix(key, source+" "); ok {
			found = append(found, reason{name, n})
			total += int(n)
		}
	}
	slices.SortFunc(found, func(a, b reason) int { return cmp.Or(cmp.Compare(b.n, a.n), strings.Compare(a.name, b.name)) })
	var parts []string
	for _, r := range found {
		parts = append(parts, fmt.Sprintf("%.0f `%s`", r.n, r.name))
	}
	return total, strings.Join(parts, ", ")
}
