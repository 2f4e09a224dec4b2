package auth

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
)

// groupsOf returns the header of an impersonation of many groups.
func groupsOf(n int) http.Header {
	h := token("boss")
	h.Set("Impersonate-User", "jane")
	for i := range n {
		h.Add("Impersonate-Group", fmt.Sprint("group-", i))
	}
	return h
}

// An authorization webhook may allow every name but one.
func TestImpersonationIsReviewedNameByNameWhereAWebhookDecides(t *testing.T) {
	for name, webhook := range map[string]bool{"webhook": true, "rules": false} {
		t.Run(name, func(t *testing.T) {
			run(t, nil, func(t *testing.T, reviews *reviewAPI, access *Access) {
				const groups, refused = 100, "group-50"
				reviews.tokens["boss"], reviews.webhook = verified("boss"), webhook
				reviews.delay = time.Millisecond
				reviews.allow = func(s *authorizationv1.SubjectAccessReviewSpec) bool {
					a := s.ResourceAttributes
					return s.User == "jane" || a.Verb == "impersonate" && a.Name != refused
				}
				r := authenticated(t, access, newRequest("/api/v1/pods", groupsOf(groups)))
				allowed, err := access.MayRead(r, readOf(t, r))
				if _, n := reviews.counts(); err != nil || allowed == webhook || (n > 50) != webhook || n > 50+reviewedAhead+5 {
					t.Errorf("allowed %v, %v, after %d reviews", allowed, err, n)
				}
				time.Sleep(time.Second) // until the reviews end that were made in vain
				if most := reviews.mostAtOnce(); webhook && most != reviewedAhead || !webhook && most != 1 {
					t.Errorf("%d reviews ran at the same time", most)
				}
			})
		})
	}
}

// Whether a webhook decides is not taken for known when it cannot be asked.
func TestImpersonationIsReviewedNameByNameWhileTheRulesAreUnknown(t *testing.T) {
	run(t, nil, func(t *testing.T, reviews *reviewAPI, access *Access) {
		reviews.tokens["boss"] = verified("boss")
		reviews.allow = func(*authorizationv1.SubjectAccessReviewSpec) bool { return true }
		access.Authorizer.options.Rules = nil
		if r := authenticated(t, access, newRequest("/api/v1/pods", groupsOf(3))); !access.Allowed(r, readOf(t, r)) {
			t.Error("the read is not allowed")
		}
		var names []string
		for _, s := range reviews.accesses {
			names = append(names, s.ResourceAttributes.Name)
		}
		for _, name := range []string{"jane", "group-0", "group-1", "group-2"} {
			if !slices.Contains(names, name) {
				t.Errorf("%s was not reviewed; %q were", name, names)
			}
		}
	})
}
