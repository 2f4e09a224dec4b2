package consistency

import (
	"encoding/pem"
	"net/http"
	"net/url"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"sluice/test/consistency/wire"
	"sluice/test/harness"
)

// sluiceName is what sources call Sluice, and what stands in its place.
const sluiceName = "sluice"

// gateway is a Sluice with a bad connection to the apiserver.
type gateway struct {
	*harness.Sluice
	link *wire.Link
	lag  *wire.Lag
}

// startGateway starts Sluice - link - lag - apiserver.
func startGateway(t *testing.T) *gateway {
	t.Helper()
	base, transport := upstream(t, plane.RESTConfig("sluice"))
	g := &gateway{lag: wire.NewLag(base, transport)}
	t.Cleanup(g.lag.Close)
	var err error
	if g.link, err = wire.NewLink(g.lag.Server().Listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); g.link.Run() }()
	t.Cleanup(func() { g.link.Close(); <-ended })
	g.Sluice = plane.StartSluice(t, harness.SluiceOptions{Binary: *binary, Flags: []string{"--kubeconfig=" + g.kubeconfig(t)}})
	return g
}

// upstream is where a configuration leads, and how, without whose it is.
func upstream(t *testing.T, config *rest.Config) (*url.URL, http.RoundTripper) {
	t.Helper()
	config = rest.AnonymousClientConfig(config)
	config.DisableCompression = true // that is between the two ends
	rt, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	base, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	return base, rt
}

// kubeconfig writes Sluice's own, which leads over the link.
func (g *gateway) kubeconfig(t *testing.T) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(plane.Kubeconfig("sluice"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range config.Clusters {
		c.Server = "https://" + g.link.Addr()
		c.CertificateAuthorityData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: g.lag.Server().Certificate().Raw})
	}
	path := filepath.Join(t.TempDir(), "sluice.kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}
