package main

import (
	"fmt"
	"time"
)

// listLine is a line of the report.
type listLine struct {
	Case   string                  `json:"case"`
	Source string                  `json:"source"` // where Sluice served the requests from
	By     map[string]*listFigures `json:"by"`     // without the apiserver if it was skipped
	Note   string                  `json:"note,omitempty"`
	// First is the CPU of Sluice's first response, in seconds. It encodes segments that later ones
	// reuse.
	First float64 `json:"firstCPUSeconds"`
	// Extra is the peak of Sluice's resident memory, first response included, minus its memory
	// before.
	Extra int64 `json:"extraRSSBytes"`

	begun     time.Time
	before    int64 // Sluice's resident memory before the first response
	firstPeak int64 // its peak during the first response
	failed    bool  // the apiserver failed
	sources   tally
}

// listFigures are the figures of one target.
type listFigures struct {
	CPU      float64 `json:"cpuSeconds"` // per request, median of the rounds
	Spread   spread  `json:"cpuSpread,omitzero"`
	P50      float64 `json:"p50Seconds"`
	P99      float64 `json:"p99Seconds"`
	Bytes    int64   `json:"bytes"`
	Coding   string  `json:"contentEncoding"`
	Peak     int64   `json:"peakRSSBytes"` // maximum over the rounds
	Requests int     `json:"requests"`

	rounds []float64       // CPU seconds per request
	walls  []time.Duration // of each request
}

// listBatch is the measurement of one target in one round.
type listBatch struct {
	walls   []time.Duration
	cpu     time.Duration // without the CPU of updates
	bytes   int64
	coding  string
	peak    int64
	sources tally
	updates int
}

// fail replaces the target's figures by a note.
func (l *listLine) fail(target string, err error) {
	delete(l.By, target)
	l.failed = true
	l.Note = fmt.Sprintf("%s failed: %v", target, err)
}

const (
	// enough is the number of requests per target after which a case that takes long needs no more rounds.
	enough = 20
	// caseTime is how long a case may take before its rounds end early.
	caseTime = 30 * time.Second
)

func newListLine(c listCase) *listLine {
	return &listLine{begun: time.Now(), Case: c.name(), By: map[string]*listFigures{}, sources: tally{}}
}

// enough reports whether the case has taken long, and each target has had enough requests.
func (l *listLine) enough() bool {
	if time.Since(l.begun) < caseTime {
		return false
	}
	measured := 0
	for _, f := range l.By {
		if f.rounds == nil {
			continue // measured once per run
		}
		if measured++; len(f.walls) < enough {
			return false
		}
	}
	return measured > 0
}

func (l *listLine) add(target string, r *listBatch) {
	f := l.By[target]
	if f == nil {
		f = &listFigures{}
		l.By[target] = f
	}
	f.rounds = append(f.rounds, r.cpu.Seconds()/float64(len(r.walls)))
	f.walls = append(f.walls, r.walls...)
	f.Bytes, f.Coding = r.bytes, r.coding
	f.Peak = max(f.Peak, r.peak)
	l.sources.add(r.sources)
}

// summarize computes the figures from the rounds.
func (l *listLine) summarize() {
	l.Source = l.sources.String()
	for _, f := range l.By {
		if f.rounds == nil {
			continue // measured once per run
		}
		f.Requests = len(f.walls)
		f.CPU, f.Spread = median(f.rounds), spreadOf(f.rounds)
		f.P50 = percentile(f.walls, 50).Seconds()
		f.P99 = percentile(f.walls, 99).Seconds()
	}
	if s := l.By[sluiceName]; s != nil {
		s.Peak = max(s.Peak, l.firstPeak)
		l.Extra = max(0, s.Peak-l.before)
	}
}
