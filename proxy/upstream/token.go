package upstream

import (
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
)

// withTokenFile returns a configuration whose transports read their token from its file: at least once a minute, and again
// after the apiserver has rejected one, as when the service account has been replaced.
func withTokenFile(c *rest.Config) (*rest.Config, error) {
	if c.BearerTokenFile == "" {
		return c, nil
	}
	source := transport.NewCachedFileTokenSource(c.BearerTokenFile)
	if _, err := source.Token(); err != nil {
		return nil, err
	}
	c = rest.CopyConfig(c)
	c.BearerToken, c.BearerTokenFile = "", ""
	c.Wrap(transport.ResettableTokenSourceWrapTransport(source))
	return c, nil
}
