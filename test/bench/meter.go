package main

import (
	"context"
	"time"
)

// meter measures the CPU and memory of targets, the apiserver among them, from its creation, except while it is paused.
type meter struct {
	background float64 // CPU of the idle control plane, as a share of a core
	targets    []*target
	began      time.Time // first
	start      time.Time // of what is not in used
	cpu        map[string]time.Duration
	used       *usage
}

// usage is the reading of a meter.
type usage struct {
	cpu    map[string]time.Duration // without the CPU that the control plane uses when idle
	client time.Duration            // CPU of this process, which has the clients
	peak   map[string]int64         // resident memory, in bytes
}

func newMeter(background float64, targets ...*target) (*meter, error) {
	used := &usage{cpu: map[string]time.Duration{}, peak: map[string]int64{}}
	m := &meter{background: background, targets: targets, began: time.Now(), used: used}
	for _, t := range targets {
		if err := t.proc.resetPeak(); err != nil {
			return nil, err
		}
	}
	return m, m.resume()
}

const clientName = "clients"

func (m *meter) resume() (err error) {
	m.start = time.Now()
	m.cpu, err = m.now()
	return err
}

// now returns the CPU of all targets, and of the clients.
func (m *meter) now() (cpu map[string]time.Duration, err error) {
	cpu = map[string]time.Duration{}
	for _, t := range m.targets {
		if cpu[t.name], err = t.proc.cpu(); err != nil {
			return nil, err
		}
	}
	cpu[clientName], err = self().cpu()
	return cpu, err
}

// pause runs something that is not measured.
func (m *meter) pause(do func() error) (err error) {
	defer fails(&err)
	must(m.read())
	check(do())
	return m.resume()
}

// read returns the usage since the meter was created.
func (m *meter) read() (_ *usage, err error) {
	defer fails(&err)
	now := must(m.now())
	for _, t := range m.targets {
		used := now[t.name] - m.cpu[t.name]
		if t.name == apiserverName {
			used = max(0, used-time.Duration(m.background*float64(time.Since(m.start))))
		}
		m.used.cpu[t.name] += used
		m.used.peak[t.name] = must(t.proc.peak())
	}
	m.used.client += now[clientName] - m.cpu[clientName]
	return m.used, nil
}

// measureIdle measures servers that have no requests.
func measureIdle(ctx context.Context, during time.Duration, targets ...*target) (_ map[string]*figures, err error) {
	defer fails(&err)
	m := must(newMeter(0, targets...))
	check(sleep(ctx, during))
	used := must(m.read())
	idle := map[string]*figures{}
	for _, t := range targets {
		f := &figures{Share: used.cpu[t.name].Seconds() / during.Seconds()}
		f.RSS = must(t.proc.resident())
		idle[t.name] = f
	}
	return idle, nil
}
