package consistency

import (
	"path/filepath"
	"testing"

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
	g := &gateway{lag: &wire.Lag{}}
	server, through := g.lag.Front(t, controlPlane.RESTConfig("sluice"))
	var err error
	if g.link, err = wire.NewLink(server.Listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); g.link.Run() }()
	t.Cleanup(func() { g.link.Close(); <-ended })
	through.Host = "https://" + g.link.Addr()
	path := filepath.Join(t.TempDir(), "sluice.kubeconfig")
	if err := harness.WriteKubeconfig(path, through); err != nil {
		t.Fatal(err)
	}
	g.Sluice = controlPlane.StartSluice(t, harness.SluiceOptions{Binary: *binary, Config: config, Flags: []string{"--kubeconfig=" + path}})
	return g
}
