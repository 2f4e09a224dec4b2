package consistency

import (
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
	through := g.lag.Front(t, controlPlane.RESTConfig("sluice"))
	g.link, through = wire.StartLink(t, through)
	g.Sluice = controlPlane.StartSluice(t, harness.SluiceOptions{Binary: *binary, Config: config, Upstream: through})
	return g
}
