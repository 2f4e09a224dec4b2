package harness

import (
	"fmt"
	"sync"

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

// clients are the clients of one server.
type clients struct {
	config func(user string) *rest.Config

	mu   sync.Mutex // guards raws
	raws map[string]*RawClient
}

func newClients(config func(user string) *rest.Config) *clients {
	return &clients{config: config, raws: map[string]*RawClient{}}
}

// Client returns a typed client that uses Protobuf, as controllers do.
func (c *clients) Client(user string) kubernetes.Interface {
	cfg := c.config(user)
	cfg.ContentType = runtime.ContentTypeProtobuf
	return kubernetes.NewForConfigOrDie(cfg)
}

// Raw returns the RawClient of a user. All calls share one, which the end of the server closes.
func (c *clients) Raw(user string) *RawClient {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.raws[user] == nil {
		raw, err := NewRawClient(c.config(user))
		if err != nil {
			panic(fmt.Sprintf("harness: requests of %q: %v", user, err))
		}
		c.raws[user] = raw
	}
	return c.raws[user]
}

func (c *clients) closeIdle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.raws {
		r.Close()
	}
}
