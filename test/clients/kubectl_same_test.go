package clients

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
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
	defineGadgets(t, apiserver)
	namespace := apiserver.Namespace(t)
	for _, s := range []sample{pods, configMaps, gadgets} {
		w := s.at(t, apiserver, namespace)
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
	defineGadgets(t, apiserver)
	namespace := apiserver.Namespace(t)
	w := gadgets.at(t, apiserver, namespace)
	w.create("first")
	for _, command := range watchCommands {
		t.Run(command, func(t *testing.T) {
			w.create("second")
			gadgets.sync(t, sluice)
			watches := quietGadgets(t)
			args := append([]string{"-n", namespace}, strings.Fields(command)...)
			direct := startKubectl(t, apiserver.Kubeconfig("admin"), args)
			cached := startKubectl(t, sluice.Kubeconfig(t, "admin"), args)
			watches.grow(t, 1, 1)
			w.label("second", "n", "2")
			w.label("second", "app", "other")
			w.label("second", "app", "x")
			w.delete("second")
			w.create("second")
			w.resize("second", marker)
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

func (w objectWriter) resize(name, size string) {
	w.t.Helper()
	if err := w.send(http.MethodPatch, w.path+"/"+name, `{"spec":{"size":`+size+`}}`); err != nil {
		w.t.Fatal(err)
	}
}

// watchLimit bounds how long a kubectl watches.
const watchLimit = 5 * time.Minute

// startKubectl starts a command, and returns a function that returns its output before the marker and kills it.
func startKubectl(t *testing.T, kubeconfig string, args []string) (before func() string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), watchLimit)
	t.Cleanup(cancel)
	cmd := kubectlFor(ctx, t, kubeconfig, "", args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return func() string {
		t.Helper()
		text, in := "", bufio.NewReader(out)
		for !strings.Contains(text, marker) {
			line, err := in.ReadString('\n')
			if text += line; err != nil {
				t.Fatalf("no marker in the output, %v:\n%s", err, text)
			}
		}
		cancel()
		_ = cmd.Wait() // the command is killed
		text, _, _ = strings.Cut(text, marker)
		return text
	}
}

// openWatches holds the numbers of open gadget watches at both servers.
type openWatches struct{ direct, cached float64 }

func gadgetWatches(t *testing.T) openWatches {
	t.Helper()
	direct, err := apiserver.Metrics(t.Context(), "apiserver_longrunning_requests")
	if err != nil {
		t.Fatal(err)
	}
	cached, err := sluice.Metrics()
	if err != nil {
		t.Fatal(err)
	}
	return openWatches{
		direct.Sum("apiserver_longrunning_requests", "resource=gadgets", "verb=WATCH"),
		cached.Sum("sluice_watchers", "resource=gadgets"),
	}
}

// quietGadgets waits until the apiserver has only Sluice's watch of gadgets, and Sluice has none:
// those of a kubectl that has been killed end a moment later.
func quietGadgets(t *testing.T) (now openWatches) {
	t.Helper()
	harness.Eventually(t, "watches have ended", func() error {
		if now = gadgetWatches(t); now != (openWatches{1, 0}) {
			return fmt.Errorf("open watches: %v", now)
		}
		return nil
	})
	return now
}

// grow waits until at least so many more watches are open.
func (o openWatches) grow(t *testing.T, direct, cached float64) {
	t.Helper()
	harness.Eventually(t, "watches are open", func() error {
		if now := gadgetWatches(t); now.direct < o.direct+direct || now.cached < o.cached+cached {
			return fmt.Errorf("open watches: %v before, %v now", o, now)
		}
		return nil
	})
}

// wait, edit and diff work on an object that changes meanwhile.
func TestKubectlFollowsChangingObjects(t *testing.T) {
	defineGadgets(t, apiserver)
	namespace := apiserver.Namespace(t)
	w := gadgets.at(t, apiserver, namespace)
	w.create("first")
	gadgets.sync(t, sluice)
	config := sluice.Kubeconfig(t, "admin")

	waits := func(change func(), args ...string) {
		t.Helper()
		watches := quietGadgets(t)
		ctx, cancel := context.WithTimeout(t.Context(), watchLimit)
		defer cancel()
		cmd := kubectlFor(ctx, t, config, "", append([]string{"-n", namespace, "wait", "--timeout=4m"}, args...)...)
		out := &bytes.Buffer{}
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		watches.grow(t, 0, 1)
		change()
		if err := cmd.Wait(); err != nil {
			t.Errorf("wait %v: %v\n%s", args, err, out)
		}
	}
	waits(func() { w.resize("first", "9") }, "--for=jsonpath={.spec.size}=9", "gadget/first")
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
