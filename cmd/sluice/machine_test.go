package main

import "testing"

func TestStoresMayTakeHalfOfTheMemoryUnlessTheConfigurationSaysOtherwise(t *testing.T) {
	for _, tt := range []struct{ configured, process, want int64 }{{0, 1 << 30, 512 << 20}, {700 << 20, 1 << 30, 700 << 20}} {
		if got := storesMemory(tt.configured, tt.process); got != tt.want {
			t.Errorf("configured %d of %d: %d bytes, want %d", tt.configured, tt.process, got, tt.want)
		}
	}
}
