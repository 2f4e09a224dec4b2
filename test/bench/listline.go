package main

import "time"

// listLine is a line of the report.
type listLine struct {
	Case     string                  `json:"case"`
	Answered string                  `json:"answered"` // how Sluice did
	By       map[string]*listFigures `json:"by"`

	seen answers
}

// listFigures are those of one target.
type listFigures struct {
	CPU      float64 `json:"cpuSeconds"` // per request, median of the rounds
	P50      float64 `json:"p50Seconds"`
	P99      float64 `json:"p99Seconds"`
	Bytes    int64   `json:"bytes"`
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
	peak    int64
	how     answers
	updates int
}

func newListLine(c listCase, b *bed) *listLine {
	l := &listLine{Case: c.name(), By: map[string]*listFigures{}, seen: answers{}}
	for _, t := range b.targets {
		l.By[t.name] = &listFigures{}
	}
	return l
}

func (l *listLine) add(target string, r *batch) {
	f := l.By[target]
	f.rounds = append(f.rounds, r.cpu.Seconds()/float64(len(r.walls)))
	f.walls = append(f.walls, r.walls...)
	f.Bytes = r.bytes
	f.Peak = max(f.Peak, r.peak)
	for how, n := range r.how {
		l.seen[how] += n
	}
}

// sum makes figures of what the rounds gave.
func (l *listLine) sum() {
	l.Answered = l.seen.String()
	for _, f := range l.By {
		f.Requests = len(f.walls)
		f.CPU = median(f.rounds)
		f.P50 = percentile(f.walls, 50).Seconds()
		f.P99 = percentile(f.walls, 99).Seconds()
	}
}
