package auth

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
)

// groupsOf returns the header of an impersonation of many groups.
func groupsOf(n int) http.Header {
	h := impersonating("boss", "jane")
	for i := range n {
		h.Add("Impersonate-Group", fmt.Sprint("group-", i))
	}
	return h
}

// An authorization webhook may allow every name but one. Whether one decides is not taken for known when it cannot be asked.
func TestImpersonationIsReviewedNameByNameUnlessRulesDecide(t *testing.T) {
	for name, row := range map[string]struct{ webhook, unknown, byName bool }{
		"webhook": {true, false, true}, "rules": {false, false, false}, "unknown": {false, true, true},
	} {
		t.Run(name, part(run, func(t *testing.T, reviews *reviewAPI, access *Access) {
			const groups, refused = 100, "group-50"
			reviews.tokens["boss"], reviews.webhook = verified("boss"), row.webhook
			reviews.delay = time.Millisecond
			reviews.allow = func(s *authorizationv1.SubjectAccessReviewSpec) bool {
				a := s.ResourceAttributes
				return s.User == "jane" || a.Verb == "impersonate" && a.Name != refused
			}
			if row.unknown {
				access.Authorizer.options.Rules = nil
			}
			r := authenticated(t, access, newRequest("/api/v1/pods", groupsOf(groups)))
			allowed, err := access.MayRead(r, readOf(t, r))
			if _, n := reviews.counts(); err != nil || allowed == row.byName || (n > 50) != row.byName || n > 50+reviewedAhead+5 {
				t.Errorf("allowed %v, %v, after %d reviews", allowed, err, n)
			}
			time.Sleep(time.Second) // until the reviews end that were made in vain
			if most := reviews.mostAtOnce(); row.byName && most != reviewedAhead || !row.byName && most != 1 {
				t.Errorf("%d reviews ran at the same time", most)
			}
		}))
	}
}
