package auth

import (
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/version"
)

func TestConstrainedImpersonationIsAllowedOnlyIfTheAPIServerKnowsIt(t *testing.T) {
	for release, want := range map[string]bool{
		"v1.34.4": false, "v1.35.4-gke.100": false, "v1.36.0-alpha.1": true, "v1.36.3+k3s1": true, "v1.40.0": true, "unknown": false, "": false,
	} {
		for verb, allowed := range map[string]bool{"impersonate": true, "impersonate:user-info": want} {
			run(t, nil, func(t *testing.T, reviews *reviewAPI, access *Access) {
				access.Authorizer.impersonator.version = func() *version.Info { return &version.Info{GitVersion: release} }
				reviews.tokens["boss"] = verified("boss")
				reviews.allow = func(s *authorizationv1.SubjectAccessReviewSpec) bool {
					a := s.ResourceAttributes
					onBehalf := verb != "impersonate" && a.Verb == "impersonate-on:user-info:list" && a.Resource == "pods"
					return s.User == "boss" && (a.Verb == verb && a.Resource == "users" || onBehalf) || s.User == "jane"
				}
				header := token("boss")
				header.Set("Impersonate-User", "jane")
				r := authenticated(t, access, newRequest("/api/v1/pods", header))
				if got := access.Allowed(r, readOf(t, r)); got != allowed {
					t.Errorf("before %q, %s is allowed: %v", release, verb, got)
				}
			})
		}
	}
}

func TestConstrainedImpersonationIsNotAssumedOfAnUnknownVersion(t *testing.T) {
	if hasConstrainedImpersonation(nil) {
		t.Error("it is")
	}
}
