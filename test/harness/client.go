package harness

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Anonymous is the user without credentials.
const Anonymous = ""

// RESTConfig is a user's configuration, without client-side limits. An unknown user is a mistake in
// the test, hence the panic.
func (c *ControlPlane) RESTConfig(user string) *rest.Config {
	of := user
	if user == Anonymous {
		of = "nobody"
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig(of))
	if err != nil {
		panic(fmt.Sprintf("harness: configuration of %q: %v", user, err))
	}
	if user == Anonymous {
		cfg = rest.AnonymousClientConfig(cfg)
	}
	cfg.QPS = -1
	cfg.WarningHandler = rest.NoWarnings{}
	return cfg
}

// Client is a typed client that speaks Protobuf, as controllers do.
func (c *ControlPlane) Client(user string) kubernetes.Interface {
	cfg := c.RESTConfig(user)
	cfg.ContentType = runtime.ContentTypeProtobuf
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		panic(fmt.Sprintf("harness: client of %q: %v", user, err))
	}
	return client
}
