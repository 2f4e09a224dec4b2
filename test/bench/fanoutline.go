package main

import "time"

// fanOutLine is a line of the report.
type fanOutLine struct {
	Case     string                    `json:"case"`
	Answered string                    `json:"answered"` // how Sluice did
	Event    int                       `json:"eventBytes"`
	Watchers int                       `json:"watchers"`
	Updates  int                       `json:"updates"` // in each round; each was delivered to each watcher
	By       map[string]*fanOutFigures `json:"by"`
	// Update is what one update costs the control plane without watchers, median of the rounds.
	Update float64 `json:"updateCPUSeconds"`

	alone []time.Duration // CPU of the control plane for the updates, of each round
	seen  answers
}

// fanOutFigures are those of one target.
type fanOutFigures struct {
	CPU float64 `json:"cpuSeconds"` // per delivered event, median of the rounds
	P50 float64 `json:"p50Seconds"` // from acknowledgement to delivery
	P99 float64 `json:"p99Seconds"`
	// Peak is the most resident memory of any round.
	Peak int64 `json:"peakRSSBytes"`
	// Watches is how many watches of pods were open at the apiserver, its own left out.
	Watches int `json:"apiserverWatches"`

	cpu, plane []time.Duration // of the target and of the control plane, of each round
	delays     []time.Duration // of each delivery
}

// watched is what one target did in one round.
type watched struct {
	cpu, plane time.Duration
	delays     []time.Duration
	peak       int64
	watches    int
	how        answers
}

func newFanOutLine(c fanOut, b *bed, event int) *fanOutLine {
	l := &fanOutLine{
		Case: c.name(), Event: event, Watchers: c.watchers, Updates: b.updates,
		By: map[string]*fanOutFigures{}, seen: answers{},
	}
	for _, t := range b.targets {
		l.By[t.name] = &fanOutFigures{}
	}
	return l
}

func (l *fanOutLine) add(target string, w *watched) {
	f := l.By[target]
	f.cpu = append(f.cpu, w.cpu)
	f.plane = append(f.plane, w.plane)
	f.delays = append(f.delays, w.delays...)
	f.Peak = max(f.Peak, w.peak)
	f.Watches = max(f.Watches, w.watches)
	for how, n := range w.how {
		l.seen[how] += n
	}
}

// enoughEvents delivered by each target are a measurement, as enough requests are.
const enoughEvents = 200_000

// enough reports whether no more rounds are needed.
func (l *fanOutLine) enough() bool { return len(l.alone)*l.Updates*l.Watchers >= enoughEvents }

// sum makes figures of what the rounds gave. What the updates cost the control plane by themselves is
// no cost of watching.
func (l *fanOutLine) sum() {
	alone := median(l.alone)
	l.Update = alone.Seconds() / float64(l.Updates)
	l.Answered = l.seen.String()
	for name, f := range l.By {
		used := make([]time.Duration, len(f.cpu))
		for i := range used {
			switch {
			case name == apiserverName:
				used[i] = f.plane[i] - alone
			case name == sluiceName && l.seen.passed():
				used[i] = f.cpu[i] + f.plane[i] - alone
			default:
				used[i] = f.cpu[i]
			}
		}
		f.CPU = median(used).Seconds() / float64(l.Updates*l.Watchers)
		f.P50 = percentile(f.delays, 50).Seconds()
		f.P99 = percentile(f.delays, 99).Seconds()
	}
}
