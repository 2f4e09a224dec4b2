package main

import "time"

// meter measures what all targets use, from when it was made.
type meter struct {
	bed   *bed
	start time.Time
	cpu   map[string]time.Duration
}

// usage is what a meter has measured.
type usage struct {
	cpu  map[string]time.Duration // without what the control plane uses at rest
	peak map[string]int64         // resident memory, in bytes
}

func (b *bed) meter() (*meter, error) {
	m := &meter{bed: b, start: time.Now(), cpu: map[string]time.Duration{}}
	for _, t := range b.targets {
		if err := t.proc.resetPeak(); err != nil {
			return nil, err
		}
		var err error
		if m.cpu[t.name], err = t.proc.cpu(); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// read returns what was used so far.
func (m *meter) read() (*usage, error) {
	u := &usage{cpu: map[string]time.Duration{}, peak: map[string]int64{}}
	for _, t := range m.bed.targets {
		now, err := t.proc.cpu()
		if err != nil {
			return nil, err
		}
		u.cpu[t.name] = now - m.cpu[t.name]
		if u.peak[t.name], err = t.proc.peak(); err != nil {
			return nil, err
		}
	}
	rest := time.Duration(m.bed.background * float64(time.Since(m.start)))
	u.cpu[apiserverName] = max(0, u.cpu[apiserverName]-rest)
	return u, nil
}
