package main

import (
	"bufio"
	"encoding/gob"
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
	dir    string
	url    string
	token  string // of its clients, for the server that it relays to
	orders *gob.Encoder
	lines  *bufio.Reader // one when it serves, and one after each order
}

// floorOrder is the response at a path, or the next frame for all watchers if the path is empty.
type floorOrder struct {
	Path   string
	Header http.Header
	Body   []byte
}

// startFloor runs this program again as the floor. What it has no bytes for it relays to a target.
func startFloor(to *target) *floor {
	f := &floor{dir: must(os.MkdirTemp("", "floor-")), token: to.config.BearerToken}
	check(rest.LoadTLSFiles(to.config))
	ca := filepath.Join(f.dir, "upstream.crt")
	check(os.WriteFile(ca, to.config.CAData, 0o600))
	f.child = startChild(floorCommand, f.dir, to.config.Host, ca)
	f.orders, f.lines = gob.NewEncoder(f.stdin), bufio.NewReader(f.out)
	line, err := f.lines.ReadString('\n')
	if err != nil {
		check(errors.Join(fmt.Errorf("floor: %w", err), f.stop()))
	}
	f.url = strings.TrimSpace(line)
	return f
}

func (f *floor) target() *target {
	config := &rest.Config{Host: f.url, BearerToken: f.token, TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(f.dir, "ca.crt")}}
	return &target{name: floorName, proc: proc(f.cmd.Process.Pid), config: config}
}

// put sets the response at a path.
func (f *floor) put(path string, a *harness.Response) { f.order(floorOrder{path, a.Header, a.Body}) }

// send makes the floor send a frame to all its watchers.
func (f *floor) send(frame []byte) { f.order(floorOrder{Body: frame}) }

func (f *floor) order(o floorOrder) {
	check(f.orders.Encode(o))
	must(f.lines.ReadString('\n'))
}

func (f *floor) stop() error { return errors.Join(f.child.stop(), os.RemoveAll(f.dir)) }
