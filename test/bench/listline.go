package main

import (
	"fmt"
	"time"
)

// listLine is a line of the report.
type listLine struct {
	Case     string                  `json:"case"`
	Answered string                  `json:"answered"` // how Sluice did
	By       map[string]*listFigures `json:"by"`       // without the apiserver if it cannot be asked
	Note     string                  `json:"note,omitempty"`
	// First is the CPU of Sluice's first answer, in seconds: later ones may be made of what it kept.
	First float64 `json:"firstCPUSeconds"`
	// Extra is the peak of Sluice's memory, in the first answer too, above what was resident before.
	Extra int64 `json:"extraRSSBytes"`

	before    int64 // resident in Sluice before the first answer
	firstPeak int64 // and the most until it was given
	failed    bool  // the apiserver has
	seen      answers
}

// listFigures are those of one target.
type listFigures struct {
	CPU      float64 `json:"cpuSeconds"` // per request, median of the rounds
	P50      float64 `json:"p50Seconds"`
	P99      float64 `json:"p99Seconds"`
	Bytes    int64   `json:"bytes"`
	Coding   string  `json:"contentEncoding"`
	Peak     int64   `json:"peakRSSBytes"` // the most of any round
	Requests int     `json:"requests"`

	rounds []float64       // CPU seconds per request
	walls  []time.Duration // of each request
}

// batch is what one target did in one round.
type batch struct {
	walls   []time.Duration
	cpu     time.Duration // without what updates cost
	bytes   int64
	coding  string
	peak    int64
	how     answers
	updates int
}

// fail notes that the apiserver, the target of that name, cannot do the case.
func (l *listLine) fail(target string, err error) {
	delete(l.By, target)
	l.failed = true
	l.Note = fmt.Sprintf("%s failed: %v", target, err)
}

// enough requests of each target are a measurement: further rounds would tell no more.
const enough = 20

func newListLine(c listCase) *listLine {
	return &listLine{Case: c.name(), By: map[string]*listFigures{}, seen: answers{}}
}

// enough reports whether no more rounds are needed.
func (l *listLine) enough() bool {
	measured := 0
	for _, f := range l.By {
		if f.rounds == nil {
			continue // asked in another case
		}
		if measured++; len(f.walls) < enough {
			return false
		}
	}
	return measured > 0
}

func (l *listLine) add(target string, r *batch) {
	f := l.By[target]
	if f == nil {
		f = &listFigures{}
		l.By[target] = f
	}
	f.rounds = append(f.rounds, r.cpu.Seconds()/float64(len(r.walls)))
	f.walls = append(f.walls, r.walls...)
	f.Bytes, f.Coding = r.bytes, r.coding
	f.Peak = max(f.Peak, r.peak)
	for how, n := range r.how {
		l.seen[how] += n
	}
}

// sum makes figures of what the rounds gave.
func (l *listLine) sum() {
	l.Answered = l.seen.String()
	for _, f := range l.By {
		if f.rounds == nil {
			continue // asked in another case
		}
		f.Requests = len(f.walls)
		f.CPU = median(f.rounds)
		f.P50 = percentile(f.walls, 50).Seconds()
		f.P99 = percentile(f.walls, 99).Seconds()
	}
	if s := l.By[sluiceName]; s != nil {
		s.Peak = max(s.Peak, l.firstPeak)
		l.Extra = max(0, s.Peak-l.before)
	}
}
