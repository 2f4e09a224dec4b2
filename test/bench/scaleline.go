package main

// scaleReport contains the measurements of --scale.
type scaleReport struct {
	Syncs      []*syncLine       `json:"syncs,omitempty"`
	Idle       idle              `json:"idle"` // of the section "cluster", in sync
	Reads      []*scaleReadLine  `json:"reads,omitempty"`
	Feeds      []*feedLine       `json:"feeds,omitempty"`
	Concurrent []*concurrentLine `json:"concurrentLists,omitempty"`
	Memory     []*memoryLine     `json:"memory,omitempty"`
	Watches    []*watchesLine    `json:"watches,omitempty"`
}

// syncLine tells what it took Sluice to get a resource in sync.
type syncLine struct {
	Resource string  `json:"resource"`
	Objects  int     `json:"objects"`
	Seconds  float64 `json:"seconds"`
	CPU      float64 `json:"cpuSeconds"`
	Upstream float64 `json:"upstreamCPUSeconds"`
	Data     int64   `json:"dataBytes"`     // of the objects as they are stored
	Peak     int64   `json:"peakRSSBytes"`  // of Sluice, without what it had before
	Resident int64   `json:"residentBytes"` // same, after a pause
}

// scaleReadLine is a read of a large cluster.
type scaleReadLine struct {
	Case string                       `json:"case"`
	By   map[string]*scaleReadFigures `json:"by"`
}

// scaleReadFigures are the figures of a read at one target.
type scaleReadFigures struct {
	Requests int     `json:"requests"`
	First    float64 `json:"firstCPUSeconds"` // of Sluice's first reads, each
	CPU      float64 `json:"cpuSeconds"`      // per request; of Sluice with what it causes at the apiserver
	P50      float64 `json:"p50Seconds"`
	P90      float64 `json:"p90Seconds"`
	P99      float64 `json:"p99Seconds"`
	Bytes    int64   `json:"bytes"`
	Source   string  `json:"source,omitempty"` // where Sluice served the requests from

	sources tally
}

// feedLine is a stream of updates to one watch at one target.
type feedLine struct {
	Target  string  `json:"target"`
	Rate    int     `json:"rate"` // wanted
	Events  int     `json:"events"`
	Written float64 `json:"writtenPerSecond"`
	Behind  float64 `json:"behindSeconds"` // from the last write to the last event
	CPU     float64 `json:"cpuSeconds"`    // of the target per event
	Plane   float64 `json:"controlPlaneCPUSeconds"`
	Failed  string  `json:"failed,omitempty"` // why the watch has ended before
}

// concurrentLine is some lists at once.
type concurrentLine struct {
	Target  string  `json:"target"`
	Format  string  `json:"format"`
	Lists   int     `json:"lists"`
	Bytes   int64   `json:"bytes"`        // of one list
	Seconds float64 `json:"seconds"`      // median of the rounds
	CPU     float64 `json:"cpuSeconds"`   // same
	Peak    int64   `json:"peakRSSBytes"` // maximum over the rounds
	// The spreads are over the rounds.
	SecondsSpread spread `json:"secondsSpread,omitzero"`
	CPUSpread     spread `json:"cpuSpread,omitzero"`
}

// memoryLine is Sluice's memory at one moment.
type memoryLine struct {
	Resource string             `json:"resource"`
	Objects  int                `json:"objects"`
	After    string             `json:"after"`
	JSON     int64              `json:"jsonBytes"` // of all objects; in sync, of the objects as they are stored
	Resident int64              `json:"residentBytes"`
	Peak     int64              `json:"peakRSSBytes"`
	Kinds    map[string]float64 `json:"kinds"`
}

// watchesLine is many watches at one target.
type watchesLine struct {
	Target  string        `json:"target"`
	Watches int           `json:"watches"`
	Stalled int           `json:"stalled"`
	Updates int           `json:"updates"`
	Without *delayFigures `json:"without"` // watches that do not read
	With    *delayFigures `json:"with"`
	Peak    int64         `json:"peakRSSBytes"`
}

// delayFigures are the delays of events at the watches that read.
type delayFigures struct {
	P50 float64 `json:"p50Seconds"`
	P99 float64 `json:"p99Seconds"`
	CPU float64 `json:"cpuSeconds"` // per event and watch
}

// moved returns how much longer the p99 of the others is while some watches do not read.
func (l *watchesLine) moved() float64 { return l.With.P99 / l.Without.P99 }
