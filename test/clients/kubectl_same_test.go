package clients

import (
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

// sameOutput are commands that print the same through Sluice.
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

// sameFailure are commands that fail, and do so in the same words.
var sameFailure = []string{
	"get gadgets --field-selector=spec.size=3",
	"get pods --selector=a=b=c",
	"get pod missing",
	"get nonsense",
	"wait --for=condition=Ready pod/first --timeout=0",
}

// What kubectl prints through Sluice, how it complains and ends, is what it
// does before the apiserver.
func TestKubectlPrintsTheSame(t *testing.T) {
	defineGadgets(t, plane)
	namespace := plane.Namespace(t)
	for _, s := range []sample{pods, configMaps, gadgets} {
		w := s.at(t, plane, namespace)
		w.create("first")
		w.create("second")
		w.label("second", "app", "y")
		s.sync(t, sluice)
	}
	through := sluice.Kubeconfig(t, "admin")
	for _, command := range slices.Concat(sameOutput, sameFailure) {
		t.Run(command, func(t *testing.T) {
			args := append([]string{"-n", namespace}, strings.Fields(command)...)
			// Ages are printed: now and then one is another when asked again.
			harness.Eventually(t, command, func() error {
				direct, failure := outcome(t, plane.Kubeconfig("admin"), args)
				if fails := slices.Contains(sameFailure, command); direct == "" || fails != (failure != nil) {
					t.Fatalf("before the apiserver: %v\n%s", failure, direct)
				}
				cached, other := outcome(t, through, args)
				if direct != cached || fmt.Sprint(failure) != fmt.Sprint(other) {
					return fmt.Errorf("before the apiserver: %v\n%s\nthrough Sluice: %v\n%s", failure, direct, other, cached)
				}
				return nil
			})
		})
	}
}

// outcome is all that a command prints, and how it ends.
func outcome(t *testing.T, kubeconfig string, args []string) (string, error) {
	t.Helper()
	out, err := kubectlFor(t.Context(), t, kubeconfig, "", args...).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), err
}

// watchCommands print what happens to gadgets, which have Tables without ages.
var watchCommands = []string{
	"get gadgets -w -o wide --output-watch-events",
	"get gadgets -w -o yaml",
	"get gadgets -w -o json --output-watch-events",
	"get gadgets -w -o custom-columns=NAME:.metadata.name,N:.metadata.labels.n,SIZE:.spec.size --no-headers",
	"get gadgets --watch-only",
	"get gadgets -w -l app=x --output-watch-events",
	"get gadget second -w --output-watch-events",
}

// Two kubectls that watch, one of them through Sluice, print the same.
func TestKubectlWatchesTheSame(t *testing.T) {
	defineGadgets(t, plane)
	namespace := plane.Namespace(t)
	w := gadgets.at(t, plane, namespace)
	w.create("first")
	for _, command := range watchCommands {
		t.Run(command, func(t *testing.T) {
			w.create("second")
			gadgets.sync(t, sluice)
			watches := gadgetWatches(t)
			args := append([]string{"-n", namespace}, strings.Fields(command)...)
			direct := startKubectl(t, plane.Kubeconfig("admin"), args)
			cached := startKubectl(t, sluice.Kubeconfig(t, "admin"), args)
			watches.grow(t, 1, 1)
			w.label("second", "n", "2")
			w.label("second", "app", "other")
			w.label("second", "app", "x")
			w.delete("second")
			w.create("second")
			w.resize("second", marker)
			d, c := direct.before(t), cached.before(t)
			if d != c {
				t.Errorf("before the apiserver:\n%s\nthrough Sluice:\n%s", d, c)
			}
			w.delete("second")
		})
	}
}

// marker is the size that a gadget has in the end.
const marker = "7777"

func (w writes) resize(name, size string) {
	w.t.Helper()
	patch := []byte(`{"spec":{"size":` + size + `}}`)
	if err := w.send(http.MethodPatch, w.path+"/"+name, "application/merge-patch+json", patch); err != nil {
		w.t.Fatal(err)
	}
}

// running is a kubectl that goes on.
type running struct {
	cmd    *exec.Cmd
	cancel context.CancelFunc
	out    *seen
}

func startKubectl(t *testing.T, kubeconfig string, args []string) running {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	r := running{kubectlFor(ctx, t, kubeconfig, "", args...), cancel, &seen{wanted: marker, found: make(chan struct{})}}
	r.cmd.Stdout, r.cmd.Stderr = r.out, r.out
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return r
}

// before is what is printed before the marker; the command is ended then.
func (r running) before(t *testing.T) string {
	t.Helper()
	select {
	case <-r.out.found:
	case <-t.Context().Done():
	}
	r.cancel()
	_ = r.cmd.Wait() // it is killed
	text, _, found := strings.Cut(r.out.text.String(), marker)
	if !found {
		t.Fatalf("only this was printed:\n%s", text)
	}
	return text
}

// openWatches are the numbers of open watches at both servers.
type openWatches struct{ direct, cached float64 }

func gadgetWatches(t *testing.T) openWatches {
	t.Helper()
	of, err := plane.Raw("admin").Get(t.Context(), "/metrics", "text/plain")
	if err != nil {
		t.Fatal(err)
	}
	through, err := sluice.AdminGet("/metrics")
	if err != nil {
		t.Fatal(err)
	}
	return openWatches{
		sum(of.Body, "apiserver_longrunning_requests", `resource="gadgets"`, `verb="WATCH"`),
		sum([]byte(through), "sluice_watchers", `resource="gadgets"`),
	}
}

// grow waits until there are so many more.
func (o openWatches) grow(t *testing.T, direct, cached float64) {
	t.Helper()
	harness.Eventually(t, "watches are open", func() error {
		if now := gadgetWatches(t); now.direct < o.direct+direct || now.cached < o.cached+cached {
			return fmt.Errorf("were %v, are %v", o, now)
		}
		return nil
	})
}

// wait, edit and diff work on what others change meanwhile.
func TestKubectlOnChangingObjects(t *testing.T) {
	defineGadgets(t, plane)
	namespace := plane.Namespace(t)
	w := gadgets.at(t, plane, namespace)
	w.create("first")
	gadgets.sync(t, sluice)
	config := sluice.Kubeconfig(t, "admin")

	waits := func(change func(), args ...string) {
		t.Helper()
		watches := gadgetWatches(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := kubectlFor(ctx, t, config, "", append([]string{"-n", namespace, "wait", "--timeout=60s"}, args...)...)
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
	if got := kubectl(t, plane.Kubeconfig("admin"), "", "-n", namespace, "get", "gadget", "first", "-o", "jsonpath={.spec.size}"); got != "10" {
		t.Errorf("after edit the size is %s", got)
	}
	object := fmt.Sprintf("{apiVersion: %s, kind: Gadget, metadata: {name: first}, spec: {size: 11}}", gadgets.gvr.GroupVersion())
	out, err := kubectlFor(t.Context(), t, config, object, "-n", namespace, "diff", "-f", "-").CombinedOutput()
	if exit := new(exec.ExitError); !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(out), "+  size: 11") {
		t.Errorf("diff: %v\n%s", err, out)
	}
	waits(func() { w.delete("first") }, "--for=delete", "gadget/first")
}
