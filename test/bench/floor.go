package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
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
	dir   string
	url   string
	cmd   *exec.Cmd
	stdin io.Closer // the child exits when it is closed
	raw   *harness.RawClient
}

// startFloor runs this program again as the floor, with variables of its environment.
func startFloor(environment ...string) (f *floor, err error) {
	defer fails(&err)
	f = &floor{}
	f.dir = must(os.MkdirTemp("", "floor-"))
	self := must(os.Executable())
	f.cmd = exec.Command(self, floorCommand, f.dir)
	f.cmd.Env = append(os.Environ(), environment...)
	f.cmd.Stderr = os.Stderr
	f.stdin = must(f.cmd.StdinPipe())
	out := must(f.cmd.StdoutPipe())
	check(f.cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("floor: %w", err), f.stop())
	}
	f.url = strings.TrimSpace(line)
	f.raw, err = harness.NewRawClient(f.config())
	return f, err
}

func (f *floor) proc() proc { return proc(f.cmd.Process.Pid) }

func (f *floor) config() *rest.Config {
	return &rest.Config{Host: f.url, TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(f.dir, "ca.crt")}}
}

// put sets the response at a path.
func (f *floor) put(ctx context.Context, path string, a *harness.Response) error {
	h := http.Header{}
	for _, name := range []string{"Content-Type", "Content-Encoding"} {
		if v := a.Header.Get(name); v != "" {
			h.Set(name, v)
		}
	}
	_, err := f.raw.Do(ctx, harness.Request{Method: http.MethodPut, Path: path, Header: h, Body: a.Body})
	return err
}

// send makes the floor send a frame to all its watchers.
func (f *floor) send(ctx context.Context, frame []byte) error {
	_, err := f.raw.Do(ctx, harness.Request{Method: http.MethodPost, Path: floorWatch, Body: frame})
	return err
}

// release makes the floor return memory to the operating system, as Sluice does by itself.
func (f *floor) release(ctx context.Context) error {
	_, err := f.raw.Do(ctx, harness.Request{Method: http.MethodDelete, Path: floorWatch})
	return err
}

func (f *floor) stop() error {
	if f.raw != nil {
		f.raw.Close()
	}
	f.stdin.Close()
	return errors.Join(f.cmd.Wait(), os.RemoveAll(f.dir))
}
