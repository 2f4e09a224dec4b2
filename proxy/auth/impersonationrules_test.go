package auth

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/version"
)

func TestConstrainedImpersonationIsAllowedOnlyIfTheAPIServerKnowsIt(t *testing.T) {
	for release, want := range map[string]bool{
		"v1.34.4": false, "v1.35.4-gke.100": false, "v1.36.0-alpha.1": true, "v1.36.3+k3s1": true, "v1.40.0": true, "unknown": false, "": false,
	} {
		for verb, allowed := range map[string]bool{"impersonate": true, "impersonate:user-info": want} {
			run(t, nil, func(t *testing.T, reviews *reviewAPI, access *Access) {
				access.Authorizer.impersonator.rules.version = func(context.Context) (*version.Info, error) {
					return &version.Info{GitVersion: release}, nil
				}
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

func TestImpersonationRulesFollowTheVersionOfTheAPIServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release, calls := "v1.35.0", 0
		var err error
		r := &impersonationRules{version: func(context.Context) (*version.Info, error) {
			calls++
			return &version.Info{GitVersion: release}, err
		}}
		check := func(want bool, wantCalls int) {
			t.Helper()
			if got := r.areConstrained(t.Context()); got != want || calls != wantCalls {
				t.Errorf("constrained: %v after %d calls, want %v after %d", got, calls, want, wantCalls)
			}
		}
		err = errors.New("unreachable")
		check(false, 1)
		check(false, 1)
		time.Sleep(versionRetry)
		err = nil
		check(false, 2)
		release = "v1.36.0"
		check(false, 2)
		time.Sleep(versionTTL)
		check(true, 3)
		time.Sleep(versionTTL)
		err = errors.New("unreachable")
		check(true, 4)
	})
}

func TestApiserverThatDoesNotTellItsVersionIsAskedOnceForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		r := &impersonationRules{version: func(ctx context.Context) (*version.Info, error) {
			calls++
			<-ctx.Done()
			return nil, ctx.Err()
		}}
		start := time.Now()
		var callers sync.WaitGroup
		for range 10 {
			callers.Go(func() { r.areConstrained(t.Context()) })
		}
		impatient, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if r.areConstrained(impatient); time.Since(start) != time.Second {
			t.Errorf("a caller for a second waited %v", time.Since(start))
		}
		callers.Wait()
		if r.areConstrained(t.Context()); calls != 1 || time.Since(start) != versionTimeout {
			t.Errorf("%d calls took %v", calls, time.Since(start))
		}
	})
}
