package main

import "time"

// latencyLine is a line of the report.
type latencyLine struct {
	Case     string                     `json:"case"`
	Answered string                     `json:"answered"` // how Sluice did
	By       map[string]*latencyFigures `json:"by"`

	seen answers
}

// latencyFigures are those of one target.
type latencyFigures struct {
	P50      float64 `json:"p50Seconds"`
	P99      float64 `json:"p99Seconds"`
	Requests int     `json:"requests"`

	walls []time.Duration // of each request
}

func newLatencyLine(c latencyCase) *latencyLine {
	return &latencyLine{Case: c.name(), By: map[string]*latencyFigures{}, seen: answers{}}
}

func (l *latencyLine) add(target string, walls []time.Duration, how answers) {
	if l.By[target] == nil {
		l.By[target] = &latencyFigures{}
	}
	f := l.By[target]
	f.walls = append(f.walls, walls...)
	for how, n := range how {
		l.seen[how] += n
	}
}

// sum makes figures of what the rounds gave.
func (l *latencyLine) sum() {
	l.Answered = l.seen.reasons()
	for _, f := range l.By {
		f.Requests = len(f.walls)
		f.P50 = percentile(f.walls, 50).Seconds()
		f.P99 = percentile(f.walls, 99).Seconds()
	}
}
