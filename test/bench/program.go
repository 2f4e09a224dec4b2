package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"sluice/test/harness"
)

const (
	// clientCommand is the argument that makes this program the child process that watches with client-go.
	clientCommand = "client"
	// programRate and programUpdates are the updates per second and their number. As many as programWarmUp
	// precede them: interpreters need a while.
	programRate    = 100
	programUpdates = 300
	programWarmUp  = 50
)

// program is a client that prints a line for each event, after one with the content encoding of the watch.
type program struct {
	name string
	// needs is a command that succeeds where the program is available; empty if it always is.
	needs []string
	// args are the program and its arguments before the URL, the token, the CA and the content encoding.
	args func(root string) []string
}

var programs = []program{
	{"client-go", nil, clientArgs(jsonType)},
	{"client-go-protobuf", nil, clientArgs(protobufType)},
	{"curl", []string{"curl", "--version"}, func(string) []string {
		// The arguments come in the order of the others'. The first line is the status line.
		return []string{"sh", "-c", `exec curl -sSNi --compressed --cacert "$3" -H "Authorization: Bearer $2" ` +
			`-H "Accept-Encoding: $4" "$1"`, "curl"}
	}},
	{"node-fetch", []string{"node", "--version"}, scriptArgs("node", "test/clients/node/watch.js", "fetch")},
	{"node-https", []string{"node", "--version"}, scriptArgs("node", "test/clients/node/watch.js", "https")},
	{"python-urllib3", []string{"python3", "-c", "import urllib3"},
		scriptArgs("python3", "test/clients/python/watch.py", "urllib3")},
	{"python-requests", []string{"python3", "-c", "import requests"},
		scriptArgs("python3", "test/clients/python/watch.py", "requests")},
}

func clientArgs(mediaType string) func(string) []string {
	return func(string) []string { return []string{os.Args[0], clientCommand, mediaType} }
}

func scriptArgs(interpreter, script, by string) func(string) []string {
	return func(root string) []string { return []string{interpreter, filepath.Join(root, script), by} }
}

// programScenarios returns one watch of all pods at Sluice by each client program and content encoding.
func programScenarios(o *options) []*scenario {
	var all []*scenario
	for _, p := range programs {
		for _, encoding := range o.watchEncodes {
			s := &scenario{
				table: programTable, name: "program " + p.name + " " + encoding, clients: 1, rounds: 1,
				op: func(ctx context.Context, w *world, _ *scenario, t *target) *sample {
					return p.watch(ctx, w, t, encoding)
				},
				sum: func(_ *world, r *row, all samples) {
					got, f := all[sluiceName][0], &figures{}
					f.timed(got.walls)
					f.Coding, f.CPU = got.coding, got.client.Seconds()/float64(len(got.walls))
					r.Target, r.By[sluiceName] = sluiceName, f
				},
			}
			s.world = func(ctx context.Context, w *world, _ *row) []*target {
				if len(p.needs) > 0 && exec.CommandContext(ctx, p.needs[0], p.needs[1:]...).Run() != nil {
					progress("%s: %s fails", s.name, strings.Join(p.needs, " "))
					return nil
				}
				return []*target{w.cached}
			}
			all = append(all, s)
		}
	}
	return o.selected(all)
}

// watch has the program watch, and measures it after a warm-up.
func (p program) watch(ctx context.Context, w *world, t *target, encoding string) *sample {
	run := p.start(ctx, w, t, encoding)
	defer run.stop()
	pace(ctx, programRate, programWarmUp, w.updatePod)
	run.wait(ctx, programWarmUp)
	before := run.proc.threads()
	acknowledged := pace(ctx, programRate, programUpdates, w.updatePod)
	run.wait(ctx, programWarmUp+programUpdates)
	after := run.proc.threads()
	run.mu.Lock()
	defer run.mu.Unlock()
	got := &sample{usage: &usage{client: after - before}, coding: run.coding}
	for i, at := range acknowledged {
		got.walls = append(got.walls, run.at[programWarmUp+i].Sub(at))
	}
	return got
}

// runningProgram is a program that watches.
type runningProgram struct {
	proc   proc
	stop   func()
	coding string // valid once an event has arrived

	mu sync.Mutex // guards what follows
	at []time.Time
}

func (p program) start(ctx context.Context, w *world, t *target, encoding string) *runningProgram {
	config := t.config
	url := config.Host + watching{}.pathAt(t, w.version(ctx))
	args := append(p.args(must(harness.Root())), url, config.BearerToken, config.CAFile, encoding)
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "NODE_EXTRA_CA_CERTS="+config.CAFile)
	cmd.Stderr = os.Stderr
	out := must(cmd.StdoutPipe())
	if err := cmd.Start(); err != nil {
		cancel()
		check(err)
	}
	run := &runningProgram{proc: proc(cmd.Process.Pid)}
	var reading sync.WaitGroup
	reading.Go(func() { run.read(out) })
	run.stop = func() {
		cancel()
		reading.Wait()
		_ = cmd.Wait() // it was killed
	}
	return run
}

// read records when events arrive. What precedes them is the content encoding, or curl's headers.
func (p *runningProgram) read(out io.Reader) {
	in := bufio.NewReaderSize(out, 64<<10)
	coding := identity
	for {
		line, err := in.ReadString('\n')
		now := time.Now()
		if err != nil {
			return
		}
		if strings.HasPrefix(line, "{") {
			p.mu.Lock()
			p.at, p.coding = append(p.at, now), coding
			p.mu.Unlock()
			continue
		}
		name, value, header := strings.Cut(strings.TrimSpace(line), ": ")
		switch {
		case header && strings.EqualFold(name, "content-encoding"):
			coding = value
		case !header && (name == identity || name == "gzip"):
			coding = name
		}
	}
}

// wait waits until n events have arrived, and fails if there are more.
func (p *runningProgram) wait(ctx context.Context, n int) {
	got := 0
	poll(ctx, 5*time.Millisecond, deliverLimit, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		got = len(p.at)
		return got >= n
	})
	if got != n {
		check(fmt.Errorf("the program has received %d events of %d", got, n))
	}
}

// roundTripper is a http.RoundTripper.
type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// runClient is the child process that watches with client-go. It prints an object for each event.
func runClient(ctx context.Context, args []string, _ io.Reader, out io.Writer) {
	mediaType, url, token, ca, encoding := args[0], args[1], args[2], args[3], args[4]
	host, path, _ := strings.Cut(url, "/api/")
	_, version, _ := strings.Cut(path, "resourceVersion=")
	coding := identity
	config := &rest.Config{
		Host: host, BearerToken: token, TLSClientConfig: rest.TLSClientConfig{CAFile: ca},
		DisableCompression: encoding == identity, ContentConfig: rest.ContentConfig{ContentType: mediaType},
	}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			resp, err := next.RoundTrip(r)
			if err == nil && resp.Uncompressed { // by net/http, which has removed the header
				coding = "gzip"
			}
			return resp, err
		})
	})
	client := must(kubernetes.NewForConfig(config))
	w := must(client.CoreV1().Pods("").Watch(ctx, metav1.ListOptions{ResourceVersion: version}))
	defer w.Stop()
	fmt.Fprintln(out, coding)
	lines := json.NewEncoder(out)
	for event := range w.ResultChan() {
		check(lines.Encode(map[string]string{"type": string(event.Type)}))
	}
}
