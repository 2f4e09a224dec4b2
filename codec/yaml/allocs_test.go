//go:build !race

// Under the race detector sync.Pool drops items at random, so allocations cannot be counted.

package yaml

import (
	"testing"

	"sluice/test/support/jsontest"
)

func TestAppendFromJSONOfCommonTextDoesNotAllocate(t *testing.T) {
	buf := make([]byte, 0, 1<<17)
	for _, f := range jsontest.Realistic() {
		allocs := testing.AllocsPerRun(200, func() {
			var err error
			if buf, err = AppendFromJSON(buf[:0], f.JSON); err != nil {
				t.Fatal(err)
			}
			if buf, err = AppendItem(buf[:0], f.JSON); err != nil {
				t.Fatal(err)
			}
		})
		if allocs != 0 {
			t.Errorf("%s: %v allocations per run", f.Name, allocs)
		}
	}
}
