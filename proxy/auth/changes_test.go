package auth

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// rules are RBAC objects that an Access follows.
type rules struct {
	mu      sync.Mutex
	changed map[string]func(key string, object []byte) // by resource
}

func (r *rules) follow(ctx context.Context, resource schema.GroupVersionResource, changed func(string, []byte), read func()) {
	r.mu.Lock()
	r.changed[resource.GroupResource().String()] = changed
	r.mu.Unlock()
	changed("a/any", nil) // all objects are new
	read()
	<-ctx.Done()
}

// change changes an object of a resource.
func (r *rules) change(resource string) { r.set(resource, "a/any", nil) }

// bind changes a RoleBinding.
func (r *rules) bind(key string, object []byte) { r.set("rolebindings", key, object) }

func (r *rules) set(resource, key string, object []byte) {
	r.mu.Lock()
	changed := r.changed[resource+".rbac.authorization.k8s.io"]
	r.mu.Unlock()
	changed(key, object)
	synctest.Wait()
}

// runRBAC runs a test of an Access that follows RBAC objects. Jane may do everything.
func runRBAC(t *testing.T, test func(*testing.T, *reviewAPI, *Access, *rules)) {
	runAllowed(t, func(t *testing.T, reviews *reviewAPI, access *Access) {
		rbac := &rules{changed: map[string]func(string, []byte){}}
		access.Authorizer.options.RBAC = rbac.follow
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- access.Authorizer.Run(ctx) }()
		defer func() {
			cancel()
			<-done
			time.Sleep(2 * longestPace) // until all timers have fired
		}()
		time.Sleep(settleTime + recentChange + time.Second) // the first lists count as changes
		test(t, reviews, access, rbac)
	})
}

// revoke takes all rights.
func (a *reviewAPI) revoke() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.allow = nil
}

func TestChangeOfRBACObjectsInvalidatesReviews(t *testing.T) {
	for _, resource := range []string{"clusterroles", "clusterrolebindings", "roles", "rolebindings"} {
		t.Run(resource, part(runRBAC, func(t *testing.T, reviews *reviewAPI, access *Access, rbac *rules) {
			notified := 0
			stop := access.Notify(func() { notified++ })
			allowed(t, access, "/api/v1/namespaces/x/pods")
			reviews.revoke()
			rbac.change(resource)
			if allowed(t, access, "/api/v1/namespaces/x/pods") {
				t.Error("allowed at once")
			}
			time.Sleep(settleTime + time.Millisecond)
			synctest.Wait()
			if notified != 1 {
				t.Errorf("notified %d times", notified)
			}
			stop()
			time.Sleep(longestPace)
			rbac.change(resource)
			time.Sleep(settleTime + time.Millisecond)
			synctest.Wait()
			if notified != 1 {
				t.Error("notified after the end")
			}
		}))
	}
}

// The authorizer of the apiserver has a watch of its own, which may be behind. The effect of a change just before an earlier one
// settles is not certain then.
func TestReviewSoonAfterAChangeIsRepeated(t *testing.T) {
	for second, settles := range map[bool]time.Duration{false: settleTime + time.Millisecond, true: 2 * settleTime} {
		runRBAC(t, func(t *testing.T, reviews *reviewAPI, access *Access, rbac *rules) {
			rbac.change("rolebindings")
			if second {
				time.Sleep(settleTime - 10*time.Millisecond)
				rbac.change("rolebindings")
				time.Sleep(20 * time.Millisecond)
				synctest.Wait()
			}
			if !allowed(t, access, "/api/v1/pods") { // still by the old rules
				t.Fatal("not allowed")
			}
			reviews.revoke()
			time.Sleep(settles)
			synctest.Wait()
			if allowed(t, access, "/api/v1/pods") {
				t.Errorf("a second change: %v: allowed by a review before it had its effect", second)
			}
		})
	}
}

func TestConstantChangeCostsOneReviewInTenSeconds(t *testing.T) {
	runRBAC(t, func(t *testing.T, reviews *reviewAPI, access *Access, rbac *rules) {
		access.Authorizer.SetTTLs(time.Hour, time.Hour)
		_, before := reviews.counts()
		notified := 0
		defer access.Notify(func() { notified++ })()
		for range 1000 {
			rbac.change("roles")
			allowed(t, access, "/api/v1/pods")
			time.Sleep(100 * time.Millisecond)
		}
		if _, after := reviews.counts(); after-before > 16 || notified > 15 {
			t.Errorf("%d reviews in 100 seconds, notified %d times", after-before, notified)
		}
		reviews.revoke()
		rbac.change("rolebindings")
		time.Sleep(longestPace + time.Millisecond)
		if allowed(t, access, "/api/v1/pods") {
			t.Error("allowed ten seconds after the right is lost")
		}
	})
}

// The access of a watch is reviewed some time before it listens for changes.
func TestListenerIsCalledForARecentChange(t *testing.T) {
	runRBAC(t, func(t *testing.T, _ *reviewAPI, access *Access, rbac *rules) {
		notified := 0
		access.Notify(func() { notified++ })()
		rbac.change("clusterroles")
		time.Sleep(2 * settleTime)
		synctest.Wait()
		access.Notify(func() { notified++ })()
		if notified != 1 {
			t.Errorf("called %d times", notified)
		}
	})
}
