package auth

import (
	"testing"

	"k8s.io/apimachinery/pkg/version"
)

// TestImpersonationFollowsTheLibraryOfTheApiserver shows what follows from it.
func TestConstrainedImpersonationIsAssumedOnlyOfAnAPIServerThatKnowsIt(t *testing.T) {
	for release, want := range map[string]bool{
		"v1.34.4": false, "v1.35.4-gke.100": false, "v1.36.0-alpha.1": true, "v1.36.3+k3s1": true, "v1.40.0": true, "unknown": false, "": false,
	} {
		if got := hasConstrainedImpersonation(&version.Info{GitVersion: release}); got != want {
			t.Errorf("%q: %v", release, got)
		}
	}
	if hasConstrainedImpersonation(nil) {
		t.Error("of an unknown version it is assumed")
	}
}
