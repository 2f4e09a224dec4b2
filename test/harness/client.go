package harness

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Anonymous is the name of the user without credentials.
const Anonymous = ""

// RESTConfig returns a user's client configuration, without client-side rate limits. It panics for an
// unknown user.
func (c *ControlPlane) RESTConfig(user string) *rest.Config {
	name := user
	if user == Anonymous {
		name = "nobody"
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig(name))
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

// Client returns a typed client that uses Protobuf, as controllers do.
func (c *ControlPlane) Client(user string) kubernetes.Interface {
	cfg := c.RESTConfig(user)
	cfg.ContentType = runtime.ContentTypeProtobuf
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		panic(fmt.Sprintf("harness: client of %q: %v", user, err))
	}
	return client
}
