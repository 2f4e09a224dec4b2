package main

import "time"

// fanOutLine is a line of the report.
type fanOutLine struct {
	Case     string                    `json:"case"`
	Source   string                    `json:"source"` // where Sluice served the requests from
	Event    int                       `json:"eventBytes"`
	Watchers int                       `json:"watchers"`
	Updates  int                       `json:"updates"` // in each round; every watcher receives each
	By       map[string]*fanOutFigures `json:"by"`
	// Update is the control plane's CPU per update without watchers, median of the rounds.
	Update float64 `json:"updateCPUSeconds"`

	alone   []time.Duration // CPU of the control plane for the updates without watchers, of each round
	sources tally
}

// fanOutFigures are the figures of one target.
type fanOutFigures struct {
	CPU    float64 `json:"cpuSeconds"` // per delivered event, median of the rounds
	Spread spread  `json:"cpuSpread,omitzero"`
	// Client is the CPU of the clients per event, without decoding it; median of the rounds.
	Client float64 `json:"clientCPUSeconds"`
	Bytes  float64 `json:"bytes"`      // per event, as sent
	P50    float64 `json:"p50Seconds"` // from acknowledgement to delivery
	P99    float64 `json:"p99Seconds"`
	// Peak is the maximum of resident memory over the rounds.
	Peak int64 `json:"peakRSSBytes"`
	// Watches is the number of watches of pods open at the apiserver, without its own.
	Watches int `json:"apiserverWatches"`

	cpu, plane, client []time.Duration // of the target, the control plane and this process, of each round
	bytes              int64           // of all rounds
	delays             []time.Duration // of each delivery
}

// fanOutBatch is the measurement of one target in one round.
type fanOutBatch struct {
	cpu, plane, client time.Duration
	bytes              int64 // of all responses
	delays             []time.Duration
	peak               int64
	watches            int
	sources            tally
}

func newFanOutLine(c fanOut, e *env, event int) *fanOutLine {
	l := &fanOutLine{
		Case: c.name(), Event: event, Watchers: c.watchers, Updates: e.updates,
		By: map[string]*fanOutFigures{}, sources: tally{},
	}
	for _, t := range e.targets {
		l.By[t.name] = &fanOutFigures{}
	}
	return l
}

func (l *fanOutLine) add(target string, w *fanOutBatch) {
	f := l.By[target]
	f.cpu = append(f.cpu, w.cpu)
	f.plane = append(f.plane, w.plane)
	f.client = append(f.client, w.client)
	f.bytes += w.bytes
	f.delays = append(f.delays, w.delays...)
	f.Peak = max(f.Peak, w.peak)
	f.Watches = max(f.Watches, w.watches)
	l.sources.add(w.sources)
}

// enoughEvents is the number of delivered events per target after which no more rounds are needed.
const enoughEvents = 200_000

// enough reports whether each target has delivered enoughEvents.
func (l *fanOutLine) enough() bool { return len(l.alone)*l.Updates*l.Watchers >= enoughEvents }

// summarize computes the figures from the rounds. The CPU of the updates themselves is not part of
// the cost of watching.
func (l *fanOutLine) summarize() {
	alone := median(l.alone)
	events := float64(l.Updates * l.Watchers)
	l.Update = alone.Seconds() / float64(l.Updates)
	l.Source = l.sources.String()
	for name, f := range l.By {
		each := make([]float64, len(f.cpu))
		for i := range each {
			used := f.cpu[i]
			switch {
			case name == apiserverName:
				used = f.plane[i] - alone
			case name == sluiceName && l.sources.passed():
				used += f.plane[i] - alone
			}
			each[i] = used.Seconds() / events
		}
		f.CPU, f.Spread = median(each), spreadOf(each)
		f.Client = median(f.client).Seconds() / events
		f.Bytes = float64(f.bytes) / (events * float64(len(f.cpu)))
		f.P50 = percentile(f.delays, 50).Seconds()
		f.P99 = percentile(f.delays, 99).Seconds()
	}
}
