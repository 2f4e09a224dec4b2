package conformance

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"sluice/test/harness"
)

var (
	plane  *harness.ControlPlane
	sluice *harness.Sluice
	words  *strings.Replacer // the variables of the rows
)

// cacheSecrets: what field selectors select of them is to be compared, too.
const cacheSecrets = `
apiVersion: sluice/v1alpha1
kind: Configuration
cache: {exclude: [events, events.events.k8s.io]}
`

// cborGate gives the apiserver every format that Sluice has.
const cborGate = "--feature-gates=CBORServingAndStorage=true"

func TestMain(m *testing.M) { harness.Main(m, 100, run) }

func run(m *testing.M) (code int, err error) {
	if plane, err = harness.StartMain(harness.Options{Sample: true, Flags: []string{cborGate}}); err != nil {
		return 0, err
	}
	defer plane.Stop()
	if sluice, err = plane.StartSluiceMain(harness.SluiceOptions{Config: cacheSecrets}); err != nil {
		return 0, err
	}
	if err = prepare(context.Background()); err == nil {
		code = m.Run()
	}
	if stop := sluice.Stop(); err == nil {
		err = stop
	}
	if err != nil || code != 0 {
		fmt.Fprintln(os.Stderr, sluice.Log())
	}
	return code, err
}

// prepare makes the objects and the variables, and fills the caches.
func prepare(ctx context.Context) error {
	if err := populate(ctx); err != nil {
		return err
	}
	now, err := synchronize(ctx)
	if err != nil {
		return err
	}
	a, err := look(ctx, "/api/v1/namespaces/o/configmaps/a")
	if err != nil {
		return err
	}
	words = strings.NewReplacer(
		"{old}", a.Metadata.ResourceVersion, // before Sluice's history
		"{now}", now, // in the history of every cache
		"{future}", "99999999", // what neither server has reached
		"{uid}", a.Metadata.UID, // of the ConfigMap o/a
	)
	return nil
}
