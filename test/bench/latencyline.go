package main

import "time"

// latencyLine is a line of the report.
type latencyLine struct {
	Case   string                     `json:"case"`
	Source string                     `json:"source"` // where Sluice served the requests from
	By     map[string]*latencyFigures `json:"by"`

	sources tally
}

// latencyFigures are the figures of one target.
type latencyFigures struct {
	P50      float64 `json:"p50Seconds"`
	P99      float64 `json:"p99Seconds"`
	Requests int     `json:"requests"`

	walls []time.Duration // of each request
}

func newLatencyLine(c latencyCase) *latencyLine {
	return &latencyLine{Case: c.name(), By: map[string]*latencyFigures{}, sources: tally{}}
}

func (l *latencyLine) add(target string, walls []time.Duration, served tally) {
	if l.By[target] == nil {
		l.By[target] = &latencyFigures{}
	}
	f := l.By[target]
	f.walls = append(f.walls, walls...)
	l.sources.add(served)
}

// summarize computes the figures from the rounds.
func (l *latencyLine) summarize() {
	l.Source = l.sources.reasons()
	for _, f := range l.By {
		f.Requests = len(f.walls)
		f.P50 = percentile(f.walls, 50).Seconds()
		f.P99 = percentile(f.walls, 99).Seconds()
	}
}
