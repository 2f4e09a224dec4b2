package clients

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/test/harness"
)

// sameOutput lists commands that succeed.
var sameOutput = []string{
	"get pods",
	"get pods -o wide --show-labels",
	"get pods -o yaml",
	"get pods -o json --show-managed-fields",
	"get pods -o name -l app=x",
	"get pods -o name -l app!=x",
	"get pods -L app --sort-by=.metadata.name --no-headers",
	"get pods -o custom-columns=NAME:.metadata.name,CPU:.spec.containers[*].resources.requests.cpu",
	"get pods -o jsonpath={.items[*].metadata.uid}",
	"get pods --field-selector=status.phase=Pending,metadata.name!=first -o name",
	"get pods --chunk-size=1 -o wide",
	"get pods,configmaps,gadgets -o name",
	"get pod first -o yaml",
	"get gadgets",
	"get gadgets -o wide",
	"get gadgets -o json --chunk-size=1",
	"get gadgets --field-selector=spec.color=red -o name",
	"get gadgets --field-selector=spec.color=blue",
	"get gadgets --server-print=false",
	"explain gadget.spec --recursive",
	"wait --for=jsonpath={.spec.size}=3 gadget/first",
}

// sameFailure lists commands that fail.
var sameFailure = []string{
	"get gadgets --field-selector=spec.size=3",
	"get pods --selector=a=b=c",
	"get pod missing",
	"get nonsense",
	"wait --for=condition=Ready pod/first --timeout=0",
}

// The output, errors and exit codes of kubectl do not depend on whether it uses Sluice.
func TestKubectlPrintsTheSameThroughSluice(t *testing.T) {
	defineGadgets(t)
	namespace := apiserver.Namespace(t)
	for _, s := range []sample{pods, configMaps, gadgets} {
		w := s.in(t, namespace)
		w.create("first")
		w.create("second")
		w.label("second", "app", "y")
		s.sync(t, sluice)
	}
	through := sluice.Kubeconfig(t, "admin")
	for _, command := range slices.Concat(sameOutput, sameFailure) {
		t.Run(command, func(t *testing.T) {
			args := append([]string{"-n", namespace}, strings.Fields(command)...)
			// The output contains ages, which may change between the two commands.
			harness.Eventually(t, command, func() error {
				direct, failure := outcome(t, apiserver.Kubeconfig("admin"), args)
				if fails := slices.Contains(sameFailure, command); direct == "" || fails != (failure != nil) {
					t.Fatalf("apiserver: %v\n%s", failure, direct)
				}
				cached, other := outcome(t, through, args)
				if direct != cached || fmt.Sprint(failure) != fmt.Sprint(other) {
					return fmt.Errorf("apiserver: %v\n%s\nSluice: %v\n%s", failure, direct, other, cached)
				}
				return nil
			})
		})
	}
}

// outcome returns the output of a command and its exit error.
func outcome(t *testing.T, kubeconfig string, args []string) (string, error) {
	t.Helper()
	out, err := kubectlFor(t.Context(), t, kubeconfig, "", args...).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), err
}

// watchCommands watch gadgets, whose Tables have no ages.
var watchCommands = []string{
	"get gadgets -w -o wide --output-watch-events",
	"get gadgets -w -o yaml",
	"get gadgets -w -o json --output-watch-events",
	"get gadgets -w -o custom-columns=NAME:.metadata.name,N:.metadata.labels.n,SIZE:.spec.size --no-headers",
	"get gadgets --watch-only",
	"get gadgets -w -l app=x --output-watch-events",
	"get gadget second -w --output-watch-events",
}

func TestKubectlWatchPrintsTheSameThroughSluice(t *testing.T) {
	defineGadgets(t)
	namespace := apiserver.Namespace(t)
	w := gadgets.in(t, namespace)
	w.create("first")
	for _, command := range watchCommands {
		t.Run(command, func(t *testing.T) {
			w.create("second")
			gadgets.sync(t, sluice)
			awaitWatches(t, 1, 0)
			args := append([]string{"-n", namespace}, strings.Fields(command)...)
			direct := startKubectl(t, apiserver.Kubeconfig("admin"), args)
			cached := startKubectl(t, sluice.Kubeconfig(t, "admin"), args)
			awaitWatches(t, 2, 1)
			w.label("second", "n", "2")
			w.label("second", "app", "other")
			w.label("second", "app", "x")
			w.delete("second")
			w.create("second")
			w.patch("second", `{"spec":{"size":`+marker+`}}`)
			d, c := direct(), cached()
			if d != c {
				t.Errorf("apiserver:\n%s\nSluice:\n%s", d, c)
			}
			w.delete("second")
		})
	}
}

// marker is the size to which a gadget is set last: it ends the compared output.
const marker = "7777"

// watchLimit bounds how long a kubectl watches.
const watchLimit = 5 * time.Minute

// startKubectl starts a command, and returns a function that returns its output before the marker and kills it.
func startKubectl(t *testing.T, kubeconfig string, args []string) (before func() string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), watchLimit)
	t.Cleanup(cancel)
	cmd := kubectlFor(ctx, t, kubeconfig, "", args...)
	in := startCommand(t, cmd)
	return func() string {
		t.Helper()
		text := ""
		for !strings.Contains(text, marker) {
			line, err := in.ReadString('\n')
			if text += line; err != nil {
				t.Fatalf("no marker in the output, %v:\n%s", err, text)
			}
		}
		cancel() // which kills the command
		text, _, _ = strings.Cut(text, marker)
		return text
	}
}

// awaitWatches waits for numbers of open watches of gadgets, at the apiserver, which has the watch of Sluice, too, and at Sluice.
// A watch of a killed kubectl ends a moment later.
func awaitWatches(t *testing.T, direct, cached float64) {
	t.Helper()
	harness.Eventually(t, "open watches", func() error {
		d, err := apiserver.Metrics(t.Context(), "apiserver_longrunning_requests")
		if err != nil {
			return err
		}
		c, err := sluice.Metrics()
		if err != nil {
			return err
		}
		open := d.Sum("apiserver_longrunning_requests", "resource=gadgets", "verb=WATCH")
		if watchers := c.Sum("sluice_watchers", "resource=gadgets"); open != direct || watchers != cached {
			return fmt.Errorf("%v and %v are open, want %v and %v", open, watchers, direct, cached)
		}
		return nil
	})
}

// wait, edit and diff work on an object that changes meanwhile.
func TestKubectlFollowsChangingObjects(t *testing.T) {
	defineGadgets(t)
	namespace := apiserver.Namespace(t)
	w := gadgets.in(t, namespace)
	w.create("first")
	gadgets.sync(t, sluice)
	config := sluice.Kubeconfig(t, "admin")

	waits := func(change func(), args ...string) {
		t.Helper()
		awaitWatches(t, 1, 0)
		ctx, cancel := context.WithTimeout(t.Context(), watchLimit)
		defer cancel()
		cmd := kubectlFor(ctx, t, config, "", append([]string{"-n", namespace, "wait", "--timeout=4m"}, args...)...)
		out := &bytes.Buffer{}
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		awaitWatches(t, 1, 1)
		change()
		if err := cmd.Wait(); err != nil {
			t.Errorf("wait %v: %v\n%s", args, err, out)
		}
	}
	waits(func() { w.patch("first", `{"spec":{"size":9}}`) }, "--for=jsonpath={.spec.size}=9", "gadget/first")
	t.Setenv("KUBE_EDITOR", "sed -i 's/size: 9/size: 10/'")
	kubectl(t, config, "", "-n", namespace, "edit", "gadget", "first")
	if got := kubectl(t, apiserver.Kubeconfig("admin"), "", "-n", namespace, "get", "gadget", "first", "-o", "jsonpath={.spec.size}"); got != "10" {
		t.Errorf("after edit the size is %s", got)
	}
	object := fmt.Sprintf("{apiVersion: %s, kind: Gadget, metadata: {name: first}, spec: {size: 11}}", gadgets.GV)
	out, err := kubectlFor(t.Context(), t, config, object, "-n", namespace, "diff", "-f", "-").CombinedOutput()
	if exit := new(exec.ExitError); !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(out), "+  size: 11") {
		t.Errorf("diff: %v\n%s", err, out)
	}
	waits(func() { w.delete("first") }, "--for=delete", "gadget/first")
}
