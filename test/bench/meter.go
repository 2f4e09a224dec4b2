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

// newMeter returns a meter that runs.
func newMeter(background float64, targets ...*target) *meter {
	used := &usage{cpu: map[string]time.Duration{}, peak: map[string]int64{}}
	m := &meter{background: background, targets: targets, began: time.Now(), used: used}
	for _, t := range targets {
		t.proc.resetPeak()
	}
	m.resume()
	return m
}

// meter returns a meter of all servers that run.
func (w *world) meter() *meter { return newMeter(w.background, w.targets()...) }

const clientName = "clients"

func (m *meter) resume() { m.start, m.cpu = time.Now(), m.now() }

// now returns the CPU of all targets, and of the clients.
func (m *meter) now() map[string]time.Duration {
	cpu := map[string]time.Duration{clientName: self().cpu()}
	for _, t := range m.targets {
		cpu[t.name] = t.proc.cpu()
	}
	return cpu
}

// pause runs something that is not measured.
func (m *meter) pause(do func()) {
	m.read()
	do()
	m.resume()
}

// read returns the usage since the meter was created.
func (m *meter) read() *usage {
	now := m.now()
	for _, t := range m.targets {
		used := now[t.name] - m.cpu[t.name]
		if t.name == apiserverName {
			used = max(0, used-time.Duration(m.background*float64(time.Since(m.start))))
		}
		m.used.cpu[t.name] += used
		m.used.peak[t.name] = t.proc.peak()
	}
	m.used.client += now[clientName] - m.cpu[clientName]
	return m.used
}

// measureIdle measures servers that have no requests.
func measureIdle(ctx context.Context, during time.Duration, targets ...*target) map[string]*figures {
	m := newMeter(0, targets...)
	sleep(ctx, during)
	used := m.read()
	idle := map[string]*figures{}
	for _, t := range targets {
		idle[t.name] = &figures{Share: used.cpu[t.name].Seconds() / during.Seconds(), RSS: t.proc.resident()}
	}
	return idle
}
