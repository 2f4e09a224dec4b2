package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"sluice/test/harness"
)

// scaleEnv is the servers of a section of --scale, with objects that were written straight into etcd.
type scaleEnv struct {
	*options
	dir                     string // of the control plane
	temporary               bool   // dir
	controlPlane            *harness.ControlPlane
	sluice                  *harness.Sluice
	apiserver, sluiceTarget *target
	background              float64 // CPU of the idle control plane, as a share of a core
	others                  int     // number of updates of other objects
}

// newScaleEnv starts the servers. If objects had to be written it starts the control plane again, so that
// its memory does not include what creating the objects took. The caller must close the env even if there
// is an error.
func newScaleEnv(ctx context.Context, o *options, section string, all ...population) (e *scaleEnv, err error) {
	e = &scaleEnv{options: o}
	if e.dir, err = e.makeDir(section); err != nil {
		return e, err
	}
	progress("%s: starting the control plane", section)
	if err = e.startControlPlane(); err != nil {
		return e, err
	}
	var written int
	for _, p := range all {
		n, err := p.load(ctx, e.controlPlane)
		if err != nil {
			return e, err
		}
		written += n
	}
	if written > 0 {
		progress("%s: starting the control plane again", section)
		if err = e.controlPlane.Stop(); err != nil {
			progress("stop: %v", err)
		}
		if err = e.startControlPlane(); err != nil {
			return e, err
		}
	}
	if e.sluice, err = e.controlPlane.StartSluiceMain(harness.SluiceOptions{
		Binary: "sluice", Flags: []string{"--log-level=warn"},
	}); err != nil {
		return e, err
	}
	e.apiserver = &target{name: apiserverName, proc: proc(e.controlPlane.PID()), config: e.controlPlane.RESTConfig(user)}
	e.sluiceTarget = &target{name: sluiceName, proc: proc(e.sluice.PID()), config: e.sluice.RESTConfig(user), sluice: e.sluice}
	return e, nil
}

func (e *scaleEnv) makeDir(section string) (string, error) {
	if e.options.dir != "" {
		dir := filepath.Join(e.options.dir, section)
		return dir, os.MkdirAll(dir, 0o755)
	}
	e.temporary = true
	return os.MkdirTemp("", "scale-")
}

func (e *scaleEnv) startControlPlane() (err error) {
	e.controlPlane, err = harness.StartMain(harness.Options{Dir: e.dir, Flags: apiserverFlags(e.options)})
	return err
}

func (e *scaleEnv) targets() []*target { return []*target{e.apiserver, e.sluiceTarget} }

// measureIdle measures the servers without requests.
func (e *scaleEnv) measureIdle(ctx context.Context) (idle, error) {
	r, err := measureIdle(ctx, e.idle, e.targets())
	e.background = r.CPU[apiserverName]
	return r, err
}

// patchOther changes an object of another resource: in a cluster the resource version rises without the
// objects that are read.
func (e *scaleEnv) patchOther(ctx context.Context) error {
	e.others++
	return patch(ctx, e.controlPlane, "/api/v1/namespaces/default", e.others)
}

// storeMetric returns a metric of the store of a resource.
func (e *scaleEnv) storeMetric(name, resource string) (float64, error) {
	m, err := e.sluice.Metrics()
	if err != nil {
		return 0, err
	}
	return m.Sum("sluice_store_"+name, "resource="+resource), nil
}

// syncPoll is the time between two looks at the metrics, which cost Sluice some milliseconds each.
const syncPoll = 250 * time.Millisecond

// sync makes Sluice cache a resource, and measures until it has.
func (e *scaleEnv) sync(ctx context.Context, p population) (*syncLine, error) {
	progress("%s: waiting until %s are in sync", sluiceName, p)
	m, err := newMeter(e.background, e.targets()...)
	if err != nil {
		return nil, err
	}
	before, err := e.sluiceTarget.proc.resident()
	if err != nil {
		return nil, err
	}
	started := time.Now()
	raw, err := e.sluiceTarget.connection(0)
	if err != nil {
		return nil, err
	}
	if _, err := raw.Get(ctx, p.path+"?limit=1", jsonType); err != nil { // starts the store
		return nil, err
	}
	for limit := started.Add(syncLimit); ; {
		synced, err := e.storeMetric("synced", p.resource)
		if err != nil {
			return nil, err
		}
		if synced == 1 {
			break
		}
		if time.Now().After(limit) {
			return nil, fmt.Errorf("%s is not in sync after %s\n%s", p.resource, syncLimit, e.sluice.Log())
		}
		if err := sleep(ctx, syncPoll); err != nil {
			return nil, err
		}
	}
	line := &syncLine{Resource: p.resource, Objects: p.count, Seconds: time.Since(started).Seconds()}
	used, err := m.read()
	if err != nil {
		return nil, err
	}
	line.CPU, line.Upstream, line.Peak = used.cpu[sluiceName].Seconds(), used.cpu[apiserverName].Seconds(), used.peak[sluiceName]-before
	if line.Data, err = e.dataBytes(p.resource); err != nil {
		return nil, err
	}
	if err := sleep(ctx, e.idle); err != nil { // the runtime returns what the fill has left
		return nil, err
	}
	after, err := e.sluiceTarget.proc.resident()
	line.Resident = after - before
	return line, err
}

func (e *scaleEnv) dataBytes(resource string) (int64, error) {
	n, err := e.storeMetric("data_bytes", resource)
	return int64(n), err
}

// close stops the servers.
func (e *scaleEnv) close() {
	var errs []error
	if e.sluice != nil {
		for _, t := range e.targets() {
			t.close()
		}
		errs = append(errs, e.sluice.Stop(), os.RemoveAll(e.sluice.Dir))
	}
	if e.controlPlane != nil {
		errs = append(errs, e.controlPlane.Stop())
	}
	if e.temporary {
		errs = append(errs, os.RemoveAll(e.dir))
	}
	if err := errors.Join(errs...); err != nil {
		progress("stop: %v", err)
	}
}
