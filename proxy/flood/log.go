// Package flood logs what callers can cause as often as they like, such as refused requests. It costs them
// nothing, so a line for each would let them write as much to the log as they like.
package flood

import (
	"maps"
	"sync"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

const (
	// Period is the period for which one line counts the events without a line of their own.
	Period = time.Second
	// Lines is how many events have a line of their own in a period: enough to see what happens, while a
	// flood writes no more.
	Lines = 10
)

// Log writes the lines of some events of each period, and one that counts the others.
type Log struct {
	log         *zap.Logger
	total, unit string

	mu sync.Mutex // guards what follows
	// omitted counts the events of the period without a line, by reason; nil between periods.
	omitted map[string]int
	lines   int // of the period
}

// New returns a Log. The line that counts has the message total, and the number of events in the field unit.
func New(log *zap.Logger, total, unit string) *Log { return &Log{log: log, total: total, unit: unit} }

// Check returns the line of an event, or nil if it has none of its own. There must be few reasons.
func (l *Log) Check(message, reason string) *zapcore.CheckedEntry {
	if !l.log.Core().Enabled(zap.InfoLevel) || !l.admit(reason) {
		return nil
	}
	return l.log.Check(zap.InfoLevel, message)
}

// admit counts an event, and reports whether it has a line. The first one begins a period.
func (l *Log) admit(reason string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.omitted == nil {
		l.omitted, l.lines = map[string]int{}, 0
		time.AfterFunc(Period, l.report)
	}
	if l.lines < Lines {
		l.lines++
		return true
	}
	l.omitted[reason]++
	return false
}

// report ends a period with the line that counts, if there is something to count.
func (l *Log) report() {
	l.mu.Lock()
	omitted := l.omitted
	l.omitted = nil
	l.mu.Unlock()
	n := 0
	for of := range maps.Values(omitted) {
		n += of
	}
	if n > 0 {
		l.log.Info(l.total, zap.Int(l.unit, n), zap.Any("reasons", omitted))
	}
}
