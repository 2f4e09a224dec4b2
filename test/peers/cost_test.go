package peers

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sluice/test/consistency/wire"
	"sluice/test/harness"
)

const (
	// starts is how often a start is measured. The median counts.
	starts = 3
	// restFor is how long everything is left alone, to see what the apiserver uses by itself.
	restFor = 10 * time.Second
	// idleFor is how long a peer is left alone, to see what it reads then. Sluice renews each of its watches every five to
	// ten minutes, so one renewal in a shorter time would count as hundreds in an hour.
	idleFor = time.Minute
	// often is how many changes of one pod are measured. An hour has one each second.
	often       = 720
	oftenInHour = int64(time.Hour / time.Second / often)
)

// cost is what something cost the apiserver.
type cost struct {
	cpu   time.Duration // of the apiserver and its etcd, above what both use at rest
	bytes int64         // that the apiserver answered
}

// atRest returns what the apiserver and its etcd use without readers, as a share of one CPU.
var atRest = sync.OnceValue(func() float64 {
	begin, err := cpuOf(plane.PID())
	time.Sleep(restFor)
	end, err2 := cpuOf(plane.PID())
	if err = errors.Join(err, err2); err != nil {
		panic(err)
	}
	return (end - begin).Seconds() / restFor.Seconds()
})

// measure returns what an act cost whose connections to the apiserver go through a relay. atRest must be known.
func measure(t *testing.T, r *wire.Link, act func()) cost {
	t.Helper()
	cpu, err := cpuOf(plane.PID())
	bytes, begin := r.Answered.Load(), time.Now()
	act()
	end, err2 := cpuOf(plane.PID())
	if err = errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	rest := time.Duration(atRest() * float64(time.Since(begin)))
	return cost{max(end-cpu-rest, 0), r.Answered.Load() - bytes}
}

// changeOften changes one pod often, one change after the other, and ends with a service of a name.
func changeOften(t *testing.T, name string) {
	t.Helper()
	core := plane.Client("admin").CoreV1()
	change(t, "run -n peers --image=pause often-"+name)
	for i := range often {
		patch := fmt.Sprintf(`{"metadata":{"labels":{"step":"%s-%d"}}}`, name, i)
		if _, err := core.Pods(namespace).Patch(t.Context(), "often-"+name, types.MergePatchType, []byte(patch),
			metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	change(t, "create service clusterip -n peers --tcp=80 "+name)
}

// hour returns how many bytes the apiserver answers to a running reader in an hour. name is what it shows in the end.
func hour(t *testing.T, r *wire.Link, reader shows, name string) int64 {
	t.Helper()
	changed := measure(t, r, func() {
		changeOften(t, name)
		same(t, reader, reader, name)
	})
	return changed.bytes*oftenInHour + restingHour(t, r)
}

// restingHour returns the same of a peer for which nothing changes.
func restingHour(t *testing.T, r *wire.Link) int64 {
	t.Helper()
	return int64(time.Hour/idleFor) * measure(t, r, func() { time.Sleep(idleFor) }).bytes
}

// median returns the median of what several starts cost.
func median(t *testing.T, r *wire.Link, act func(i int)) (spent cost) {
	t.Helper()
	var cpu []time.Duration
	var bytes []int64
	for i := range starts {
		one := measure(t, r, func() { act(i) })
		cpu, bytes = append(cpu, one.cpu), append(bytes, one.bytes)
	}
	slices.Sort(cpu)
	slices.Sort(bytes)
	return cost{cpu[starts/2], bytes[starts/2]}
}

// cpuOf returns the CPU time that a process has used.
func cpuOf(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:])) // from the third on
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond, nil // USER_HZ is 100 on every Linux
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
	var found []string
	for key, n := range s {
		if strings.HasPrefix(key, source+" ") {
			found = append(found, key)
			total += int(n)
		}
	}
	slices.SortFunc(found, func(a, b string) int { return cmp.Or(cmp.Compare(s[b], s[a]), strings.Compare(a, b)) })
	for i, key := range found {
		found[i] = fmt.Sprintf("%.0f `%s`", s[key], strings.TrimPrefix(key, source+" "))
	}
	return total, strings.Join(found, ", ")
}
