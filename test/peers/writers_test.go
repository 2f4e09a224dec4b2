package peers

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/test/consistency/wire"
	"sluice/test/harness"
)

// writer is a program of others that writes: two of them would do each other's work, so they run one after the other.
type writer struct {
	peer
	steps []step
}

// step is a change and what the writer must make of it.
type step struct {
	commands []string
	read     string // a command of kubectl
	reached  func(t *testing.T, output string) bool
}

var writers = []writer{
	{peer{"cert-manager, cainjector", "cert-manager", "v1.21.2", nil, goProgram("cert-manager"), silent}, injections},
	{peer{"Flux, runtime of its controllers", "flux", "v0.117.0", nil, goProgram("flux"), silent}, reconciliations},
}

// silent starts a program that shows nothing.
func silent(t *testing.T, program, kubeconfig string) shows {
	return shows{stop: start(t, program, kubeconfig).stop}
}

const injected = "get -o jsonpath={..caBundle} validatingwebhookconfiguration/peers mutatingwebhookconfiguration/peers" +
	" customresourcedefinition/injected.peers.example.com apiservice/v1.injected.example.com"

// injections are what cainjector does.
var injections = []step{
	{[]string{"apply -f ca.yaml", patchCA + "client-ca.crt", "apply -f injected.yaml"}, injected, bundles("client-ca.crt")},
	{[]string{patchCA + "ca.crt"}, injected, bundles("ca.crt")},
	{[]string{"delete validatingwebhookconfiguration peers", "apply -f injected.yaml"}, injected, bundles("ca.crt")},
	{[]string{patchCA + "client-ca.crt"}, injected, bundles("client-ca.crt")},
}

const patchCA = "patch secret -n peers ca --type merge -p CA:"

// bundles reports whether four objects have a CA; cainjector may have left the one before, too.
func bundles(file string) func(*testing.T, string) bool {
	return func(t *testing.T, output string) bool {
		all := strings.Fields(output)
		for _, bundle := range all {
			text, err := base64.StdEncoding.DecodeString(bundle)
			if err != nil || !bytes.Contains(text, bytes.TrimSpace(contentOf(t, file))) {
				return false
			}
		}
		return len(all) == 4
	}
}

// ordered sorts the certificates of each bundle in an output: cainjector keeps them in any order.
func ordered(output string) string {
	all := strings.Fields(output)
	for i, bundle := range all {
		text, _ := base64.StdEncoding.DecodeString(bundle) // what is no bundle stays
		if certificates := strings.SplitAfter(string(text), "-----END CERTIFICATE-----\n"); len(certificates) > 1 {
			slices.Sort(certificates)
			all[i] = strings.Join(certificates, "")
		}
	}
	return strings.Join(all, " ")
}

const ready = "get cron nightly -n peers --ignore-not-found -o jsonpath=" +
	"{.metadata.name}:{.metadata.finalizers}:{.status.observedGeneration}:{.status.conditions[0].message}"

// reconciliations are what the controller upon Flux's runtime does. The last one leaves no object with a finalizer, which
// would keep its definition when the controller has ended.
var reconciliations = []step{
	{[]string{"apply -f definition.yaml", established, "apply -f custom.yaml"}, ready, cron("1:3 replicas")},
	{[]string{"delete -f custom.yaml", "apply -f custom.yaml"}, ready, cron("1:3 replicas")},
	{[]string{scale + `{"spec":{"replicas":4}}`}, ready, cron("2:4 replicas")},
	{[]string{scale + `{"spec":{"replicas":5}}`, observed, "delete -f custom.yaml"}, ready, none},
}

const (
	scale    = "patch cron -n peers nightly --type merge -p "
	observed = "wait -n peers --timeout=2m --for=jsonpath={.status.observedGeneration}=3 cron/nightly"
)

func none(_ *testing.T, output string) bool { return output == "" }

func cron(status string) func(*testing.T, string) bool {
	return func(_ *testing.T, output string) bool { return output == `nightly:["peers.example.com/flux"]:`+status }
}

// A program of others writes through Sluice the same as at the apiserver, and goes on after a start.
func TestPeersWriteTheSameThroughSluice(t *testing.T) {
	for _, w := range writers {
		t.Run(w.folder, func(t *testing.T) {
			w.require(t)
			atRest()
			program, e := w.build(t), newEnv(t, "", "")
			directly, before := w.run(t, e, e.direct, program, e.directly)
			counted := sourcesOf(t, e.sluice)
			through, after := w.run(t, e, e.upstream, program, e.through)
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("-directly +through Sluice:\n%s", diff)
			}
			w.report(t, directly, through, sourcesOf(t, e.sluice).since(counted))
		})
	}
}

// run makes all steps but the last with a writer, measures what a start and the last step cost, and returns what the
// writer made of each step.
func (w writer) run(t *testing.T, e *env, r *wire.Link, program, kubeconfig string) (spent costs, made []string) {
	t.Helper()
	defer clean(t)
	running := w.start(t, program, kubeconfig)
	last := len(w.steps) - 1
	for _, s := range w.steps[:last] {
		made = append(made, s.make(t))
	}
	running.stop()
	e.idle(t)
	spent.start = measure(t, r, func() {
		running = w.start(t, program, kubeconfig)
		made = append(made, w.steps[last].make(t))
	})
	spent.hour = restingHour(t, r)
	running.stop()
	e.idle(t)
	return spent, made
}

// make makes a change, and waits for and returns what the writer makes of it.
func (s step) make(t *testing.T) (output string) {
	t.Helper()
	change(t, s.commands...)
	harness.Eventually(t, s.commands[len(s.commands)-1], func() (err error) {
		output, err = kubectl(strings.Fields(s.read)...)
		if err == nil && !s.reached(t, output) {
			err = fmt.Errorf("%.200q", output)
		}
		return err
	})
	return ordered(output)
}
