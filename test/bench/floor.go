package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/rest"

	"sluice/test/harness"
)

const (
	floorCommand  = "floor" // the argument that makes this program the floor's child process
	floorWatch    = "/watch"
	floorBodyPath = "/body" // path of the response in all cases without watches
)

// floor is a child process that serves prepared bytes.
type floor struct {
	*child
	dir string
	url string
	raw *harness.RawClient

	token string // of its clients, for the server that it relays to
}

// startFloor runs this program again as the floor, with variables of its environment. What it has no bytes for it relays to
// a target, unless that is nil.
func startFloor(to *target, environment ...string) *floor {
	f := &floor{dir: must(os.MkdirTemp("", "floor-"))}
	args := []string{floorCommand, f.dir}
	if to != nil {
		check(rest.LoadTLSFiles(to.config))
		ca := filepath.Join(f.dir, "upstream.crt")
		check(os.WriteFile(ca, to.config.CAData, 0o600))
		args, f.token = append(args, to.config.Host, ca), to.config.BearerToken
	}
	f.child = startChild(environment, args...)
	line, err := bufio.NewReader(f.out).ReadString('\n')
	if err != nil {
		check(errors.Join(fmt.Errorf("floor: %w", err), f.stop()))
	}
	f.url = strings.TrimSpace(line)
	f.raw = must(harness.NewRawClient(f.target().config))
	return f
}

func (f *floor) target() *target {
	config := &rest.Config{Host: f.url, BearerToken: f.token, TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(f.dir, "ca.crt")}}
	return &target{name: floorName, proc: proc(f.cmd.Process.Pid), config: config}
}

// put sets the response at a path.
func (f *floor) put(ctx context.Context, path string, a *harness.Response) {
	f.do(ctx, harness.Request{Method: http.MethodPut, Path: path, Header: contentOf(a.Header), Body: a.Body})
}

// send makes the floor send a frame to all its watchers.
func (f *floor) send(ctx context.Context, frame []byte) {
	f.do(ctx, harness.Request{Method: http.MethodPost, Path: floorWatch, Body: frame})
}

// release makes the floor return memory to the operating system, as Sluice does by itself.
func (f *floor) release(ctx context.Context) {
	f.do(ctx, harness.Request{Method: http.MethodDelete, Path: floorWatch})
}

func (f *floor) do(ctx context.Context, q harness.Request) { must(f.raw.Do(ctx, q)) }

// contentOf returns the fields of a header that describe the body.
func contentOf(h http.Header) http.Header {
	content := http.Header{}
	for _, name := range []string{"Content-Type", "Content-Encoding"} {
		if v := h[name]; v != nil {
			content[name] = v
		}
	}
	return content
}

func (f *floor) stop() error {
	if f.raw != nil {
		f.raw.Close()
	}
	return errors.Join(f.child.stop(nil), os.RemoveAll(f.dir))
}
