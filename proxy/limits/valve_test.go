package limits

import (
	"os"
	"path/filepath"
	"testing"
)

// valved is a Valve of 1000 bytes with two ledgers, and what it has done.
type valved struct {
	used    int64
	shrunk  int64
	guarded Guarded
	*Valve
}

func newValved() *valved {
	v := &valved{}
	v.guarded = Guarded{
		Shrink:  func(bytes int64) { v.shrunk = bytes },
		Ledgers: []*Ledger{NewLedger(1000), NewLedger(1000)},
	}
	v.Valve = NewValve(1000, func() int64 { return v.used })
	return v
}

func (v *valved) at(used int64) {
	v.used = used
	v.look(v.guarded)
}

func TestMemosShrinkByWhatIsBeyondThreeQuarters(t *testing.T) {
	v := newValved()
	for used, want := range map[int64]int64{500: 0, 750: 0, 800: 50} {
		if v.at(used); v.shrunk != want {
			t.Errorf("%d used: memos are %d less, want %d", used, v.shrunk, want)
		}
	}
}

func TestAllButTheSystemAreRefusedFrom85Percent(t *testing.T) {
	v := newValved()
	for _, tt := range []struct {
		used    int64
		refused bool
	}{{849, false}, {850, true}, {700, false}} {
		v.at(tt.used)
		for _, l := range v.guarded.Ledgers {
			h, err := l.Take(caller("a"), 1)
			h.Release()
			if (err != nil) != tt.refused {
				t.Errorf("%d used: %v", tt.used, err)
			}
			take(t, l, system, 1).Release()
		}
	}
}

func TestTheHeaviestEndsFrom92PercentUntil85(t *testing.T) {
	v := newValved()
	var ends [3]int
	takeUntil(t, v.guarded.Ledgers[0], caller("unauthenticated"), 30, &ends[0])
	takeUntil(t, v.guarded.Ledgers[1], caller("heavy"), 500, &ends[1])
	takeUntil(t, v.guarded.Ledgers[1], caller("light"), 400, &ends[2])
	if v.at(919); ends != [3]int{} {
		t.Errorf("below: %v", ends)
	}
	if v.at(930); ends != [3]int{1, 1, 0} {
		t.Errorf("ended: %v", ends)
	}
}

func TestTheCgroupCountsWithoutPagesOfFiles(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"":       {"memory.current": "1000\n", "memory.stat": "anon 100\nfile 300\nslab_reclaimable 50\n"},
		"memory": {"memory.usage_in_bytes": "950\n", "memory.stat": "cache 1\nrss 2\ntotal_cache 300\ntotal_rss 7\n"},
	} {
		root := t.TempDir()
		dir := filepath.Join(root, name, "a", "b")
		write := func(path, text string) {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		write(filepath.Join(root, "self"), "3:cpuset:/\n4:"+name+":/a/b\n")
		for file, text := range files {
			write(filepath.Join(dir, file), text)
		}
		if n, err := cgroupOf(filepath.Join(root, "self"), root).anonymous(); n != 650 || err != nil {
			t.Errorf("%q: %d, %v", name, n, err)
		}
	}
}

func TestUsedIsPositive(t *testing.T) {
	if n := Used(1 << 40)(); n <= 0 {
		t.Errorf("%d bytes", n)
	}
}
