package harness

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

// APIServices is the path of the objects that register extension API servers.
const APIServices = "/apis/apiregistration.k8s.io/v1/apiservices"

// StartExtension starts an extension API server until the test ends. It returns the spec of an APIService for version v1 of a group.
func (c *ControlPlane) StartExtension(t testing.TB, group string, h http.Handler) (spec string) {
	t.Helper()
	server := httptest.NewTLSServer(h)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	namespace := c.Namespace(t)
	service := fmt.Sprintf( // endpoints must not be on loopback
		`{"metadata":{"name":"extension"},"spec":{"type":"ExternalName","externalName":"localhost","ports":[{"port":%s}]}}`, port)
	c.MustCreate(t, "/api/v1/namespaces/"+namespace+"/services", service)
	return fmt.Sprintf(`{"group":%q,"version":"v1","groupPriorityMinimum":100,"versionPriority":100,"insecureSkipTLSVerify":true,
		"service":{"namespace":%q,"name":"extension","port":%s}}`, group, namespace, port)
}

// Aggregate starts an extension API server for version v1 of a group, and registers it, until the test ends.
func (c *ControlPlane) Aggregate(t testing.TB, group string, h http.Handler) {
	t.Helper()
	admin, spec := c.Raw("admin"), c.StartExtension(t, group, h)
	c.MustCreate(t, APIServices, fmt.Sprintf(`{"metadata":{"name":"v1.%s"},"spec":%s}`, group, spec))
	t.Cleanup(func() {
		if _, err := admin.Write(context.WithoutCancel(t.Context()), http.MethodDelete, APIServices+"/v1."+group, ""); err != nil {
			t.Error(err)
		}
	})
	admin.AwaitStatus(t, http.StatusOK, Request{Path: "/apis/" + group + "/v1"})
}
