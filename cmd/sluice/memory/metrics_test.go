package memory

import (
	"runtime"
	"testing"
)

func TestMemoryKindsAddUpToTheMemoryFromTheSystem(t *testing.T) {
	runtime.GC()
	k := readKinds(1000, 200, 30)
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	sum := k.objects + k.history + k.encoded + k.other + k.garbage + k.reserved + k.runtime
	// The two readings are not at the same time.
	if sum < (stats.Sys-stats.HeapReleased)*3/4 || sum > (stats.Sys-stats.HeapReleased)*5/4 {
		t.Errorf("%+v: %d bytes of %d", k, sum, stats.Sys-stats.HeapReleased)
	}
	if k.objects != 1000 || k.history != 200 || k.encoded != 30 || k.other == 0 || k.runtime == 0 {
		t.Errorf("%+v", k)
	}
}

func TestMemoryKindsDoNotUnderflowWhenStoresCountMoreThanLives(t *testing.T) {
	if k := readKinds(1<<40, 0, 0); k.other != 0 {
		t.Errorf("%+v", k)
	}
}
