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
	"sluice/codec"
	"sluice/proxy/request"
)

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard())
	goleak.VerifyTestMain(m)
}

func noStore(schema.GroupVersionResource) (*cache.Store, codec.Encoding) { return nil, 0 }

func noObjects(schema.GroupVersionResource) (objects, bytes int64, known bool) { return 0, 0, false }

// start returns Levels that run until the test ends.
func start(t testing.TB, o Options) *Levels {
	t.Helper()
	if o.Store == nil {
		o.Store = noStore
	}
	if o.Objects == nil {
		o.Objects = noObjects
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

// as returns a request of u, or of an unauthenticated caller if u is nil.
func as(t testing.TB, u user.Info, line string) *http.Request {
	t.Helper()
	method, path, _ := strings.Cut(line, " ")
	r := httptest.NewRequest(method, path, nil)
	info, err := request.Parse(r)
	if err != nil {
		t.Fatal(err)
	}
	if u != nil {
		info.Caller, info.Acting, info.User = request.BearerToken, u, u.GetName()
	}
	return r.WithContext(request.With(r.Context(), info))
}

const (
	listPods    = "GET /api/v1/pods"
	createPod   = "POST /api/v1/namespaces/default/pods"
	updateLease = "PUT /apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1"
	leaderLease = "PUT /apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler"
)

func userName(n int) string { return fmt.Sprintf("user-%d", n) }
