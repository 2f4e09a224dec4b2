package auth

import (
	utilversion "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apimachinery/pkg/version"
)

// constrainedSince is the first release that has constrained impersonation (KEP-5284) by default.
var constrainedSince = utilversion.MajorMinor(1, 36)

// hasConstrainedImpersonation reports whether an apiserver allows what constrained impersonation allows: permissions
// that an older one does not know. Of an unknown version it is not assumed: impersonation by such permissions passes.
func hasConstrainedImpersonation(apiserver *version.Info) bool {
	if apiserver == nil {
		return false
	}
	v, err := utilversion.ParseGeneric(apiserver.GitVersion)
	return err == nil && v.AtLeast(constrainedSince)
}
