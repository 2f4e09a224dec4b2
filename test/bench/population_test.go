package main

import "testing"

// The control plane creates ConfigMaps of its own, for which 300,000 others must not be written again.
func TestPopulationIsReusedBesideObjectsOfTheControlPlane(t *testing.T) {
	for n, want := range map[int]bool{0: false, 999: false, 1000: true, 1002: true, 2000: false} {
		if got := smallConfigMaps(1000).loaded(n); got != want {
			t.Errorf("%d objects: %v", n, got)
		}
	}
}
