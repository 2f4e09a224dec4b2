package priority

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/klog/v2"

	"sluice/cache"
	"sluice/cache/tree"
	"sluice/proxy/accounts"
	"sluice/proxy/request"
	"sluice/proxy/resources"
)

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard())
	goleak.VerifyTestMain(m)
}

// sized are resources of which none is cached, or if there are objects each with one store of them.
type sized struct{ objects []*tree.Object }

func (s sized) Lookup(schema.GroupVersionResource, resources.Reader) (*resources.CachedResource, string) {
	return nil, resources.NotInSync
}

func (s sized) Peek(schema.GroupVersionResource) *resources.CachedResource {
	if s.objects == nil {
		return nil
	}
	return &resources.CachedResource{Store: cache.New(cache.Options{}, s.objects, 1)}
}

// start returns Levels that run until the test ends.
func start(t testing.TB, o Options) *Levels {
	t.Helper()
	if o.Resources == nil {
		o.Resources = sized{}
	}
	if o.Wait == 0 {
		o.Wait = 10 * time.Second
	}
	o.Log = zap.NewNop()
	l := New(o)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- l.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	<-l.began
	return l
}

// ask returns the request of an authenticated user, to a path as in "GET /api/v1/pods".
func ask(t testing.TB, name string, request string, groups ...string) *http.Request {
	t.Helper()
	return as(t, &user.DefaultInfo{Name: name, Groups: append(groups, user.AllAuthenticated)}, request)
}

func askServiceAccount(t testing.TB, namespace, name, request string) *http.Request {
	t.Helper()
	return ask(t, serviceaccount.MakeUsername(namespace, name), request, serviceaccount.MakeGroupNames(namespace)...)
}

func as(t testing.TB, u user.Info, line string) *http.Request {
	t.Helper()
	method, path, _ := strings.Cut(line, " ")
	r := httptest.NewRequest(method, path, nil)
	info, err := request.Parse(r)
	if err != nil {
		t.Fatal(err)
	}
	info.Caller, info.Acting, info.User = request.BearerToken, u, u.GetName()
	info.Account = accounts.New(accounts.Totals{}, 0).Account(accounts.ByUser(info.User))
	return r.WithContext(request.With(r.Context(), info))
}

const (
	listPods    = "GET /api/v1/pods"
	createPod   = "POST /api/v1/namespaces/default/pods"
	updateLease = "PUT /apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1"
	leaderLease = "PUT /apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler"
)

func userName(n int) string { return fmt.Sprintf("user-%d", n) }
