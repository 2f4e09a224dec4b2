package main

import (
	"errors"
	"fmt"
	"runtime"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"sluice/config"
	"sluice/proxy/upstream"
)

// headerNames returns the configured names of front-proxy headers of the apiserver; nil if they are to
// be read from it.
func headerNames(p config.UpstreamFrontProxy) *upstream.HeaderNames {
	if len(p.UserHeaders) == 0 {
		return nil
	}
	return &upstream.HeaderNames{User: p.UserHeaders, UID: p.UIDHeaders, Group: p.GroupHeaders, ExtraPrefix: p.ExtraPrefixes}
}

// acceptedNames returns the names of the headers in which Sluice itself accepts users from front proxies.
func acceptedNames(p config.FrontProxy) upstream.HeaderNames {
	return upstream.HeaderNames{User: p.UserHeaders, UID: p.UIDHeaders, Group: p.GroupHeaders, ExtraPrefix: p.ExtraPrefixes}
}

// loadKubeconfig reads a kubeconfig as kubectl does.
func loadKubeconfig(path, context string) clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = path
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: context})
}

var errNoKubeconfig = errors.New("there is no kubeconfig: name one with --kubeconfig, or set KUBECONFIG")

// restConfig loads the kubeconfig by client-go's rules.
func restConfig(path, context string) (*rest.Config, error) {
	c, err := loadKubeconfig(path, context).ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, errNoKubeconfig
	}
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	if c.Host == "" {
		return nil, errors.New("kubeconfig: no apiserver")
	}
	return c, nil
}

// userAgent returns the User-Agent of Sluice's own requests.
func userAgent() string {
	return fmt.Sprintf("sluice/%s (%s/%s)", version, runtime.GOOS, runtime.GOARCH)
}
