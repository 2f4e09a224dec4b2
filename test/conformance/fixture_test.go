package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	utilversion "k8s.io/apimachinery/pkg/util/version"

	"sluice/test/harness"
)

var (
	apiserver *harness.ControlPlane
	sluice    *harness.Sluice
	variables *strings.Replacer // replaces the variables of the rows
)

// cacheSecrets has Secrets cached, so that their field selectors are compared too.
const cacheSecrets = `
apiVersion: sluice/v1alpha1
kind: Configuration
cache: {secrets: true}
`

// cborGate makes the apiserver support every format that Sluice supports.
const cborGate = "--feature-gates=CBORServingAndStorage=true"

// cors makes the apiserver allow the origins http://ex.io, with any port, and null.
const cors = `--cors-allowed-origins=^http://ex\.io(:\d+)?$,^null$`

func TestMain(m *testing.M) { harness.Main(m, 100, run) }

func run(m *testing.M) (code int, err error) {
	if apiserver, err = harness.StartMain(harness.Options{Sample: true, Flags: []string{cborGate, cors}}); err != nil {
		return 0, err
	}
	defer apiserver.Stop()
	if sluice, err = apiserver.StartSluiceMain(harness.SluiceOptions{Config: cacheSecrets}); err != nil {
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

// prepare creates the objects, fills the caches and sets the variables.
func prepare(ctx context.Context) error {
	var info struct{ GitVersion string }
	if err := errors.Join(populate(ctx), fetch(ctx, apiserver, "/version", &info)); err != nil {
		return err
	}
	var err error
	if release, err = utilversion.ParseGeneric(info.GitVersion); err != nil {
		return err
	}
	now, err := synchronize(ctx, apiserver, sluice, cached)
	if err != nil {
		return err
	}
	var a object
	if err := fetch(ctx, apiserver, "/api/v1/namespaces/o/configmaps/a", &a); err != nil {
		return err
	}
	variables = strings.NewReplacer(
		"{old}", a.Metadata.ResourceVersion, // older than Sluice's history
		"{now}", now, // in the history of every cache
		"{future}", "99999999", // not reached by either server
		"{uid}", a.Metadata.UID, // of the ConfigMap o/a
	)
	return nil
}
