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

// sluiceName is the name of Sluice, or of a wrong gateway in front of it, in sources.
const sluiceName = "sluice"

// gateway is a Sluice with a faulty connection to the apiserver.
type gateway struct {
	*harness.Sluice
	link *wire.Link
	lag  *wire.Lag
}

// startGateway starts Sluice with a configuration, and the faulty connection: Sluice -> link -> lag -> apiserver.
func startGateway(t *testing.T, config string) *gateway {
	t.Helper()
	base, transport := upstream(t, controlPlane.RESTConfig("sluice"))
	g := &gateway{lag: wire.NewLag(base, transport)}
	t.Cleanup(g.lag.Close)
	var err error
	if g.link, err = wire.NewLink(g.lag.Server().Listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); g.link.Run() }()
	t.Cleanup(func() { g.link.Close(); <-ended })
	g.Sluice = controlPlane.StartSluice(t, harness.SluiceOptions{Binary: *binary, Config: config, Flags: []string{"--kubeconfig=" + g.kubeconfig(t)}})
	return g
}

// upstream returns the address of a configuration and a transport without its credentials.
func upstream(t *testing.T, config *rest.Config) (*url.URL, http.RoundTripper) {
	t.Helper()
	config = rest.AnonymousClientConfig(config)
	config.DisableCompression = true // client and server negotiate it end to end
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

// kubeconfig writes a kubeconfig for Sluice that connects through the link.
func (g *gateway) kubeconfig(t *testing.T) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(controlPlane.Kubeconfig("sluice"))
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
