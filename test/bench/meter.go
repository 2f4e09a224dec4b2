package main

import "time"

// meter measures the CPU and memory of targets, the apiserver among them, from its creation.
type meter struct {
	background float64 // CPU of the idle control plane, as a share of a core
	targets    []*target
	start      time.Time
	cpu        map[string]time.Duration
	client     time.Duration
}

// usage is the reading of a meter.
type usage struct {
	cpu    map[string]time.Duration // without the CPU that the control plane uses when idle
	client time.Duration            // CPU of this process, which has the clients
	peak   map[string]int64         // resident memory, in bytes
}

func newMeter(background float64, targets ...*target) (*meter, error) {
	m := &meter{background: background, targets: targets, start: time.Now(), cpu: map[string]time.Duration{}}
	for _, t := range targets {
		if err := t.proc.resetPeak(); err != nil {
			return nil, err
		}
		var err error
		if m.cpu[t.name], err = t.proc.cpu(); err != nil {
			return nil, err
		}
	}
	var err error
	m.client, err = self().cpu()
	return m, err
}

// read returns the usage since the meter was created.
func (m *meter) read() (*usage, error) {
	u := &usage{cpu: map[string]time.Duration{}, peak: map[string]int64{}}
	for _, t := range m.targets {
		now, err := t.proc.cpu()
		if err != nil {
			return nil, err
		}
		u.cpu[t.name] = now - m.cpu[t.name]
		if u.peak[t.name], err = t.proc.peak(); err != nil {
			return nil, err
		}
	}
	now, err := self().cpu()
	if err != nil {
		return nil, err
	}
	u.client = now - m.client
	rest := time.Duration(m.background * float64(time.Since(m.start)))
	u.cpu[apiserverName] = max(0, u.cpu[apiserverName]-rest)
	return u, nil
}
