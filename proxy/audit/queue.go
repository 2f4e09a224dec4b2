package audit

import (
	"context"
	"io"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"sluice/proxy/wait"
)

const (
	// maxQueued and maxEvents bound the events that wait to be written, in bytes and by their number.
	maxQueued = 16 << 20
	maxEvents = 16 << 10
	// lastWrites is how long the events that remain at the end may take.
	lastWrites = 5 * time.Second
	// reportEvery is the least time between two log lines about lost events.
	reportEvery = time.Minute
)

// Log is the audit log. It never blocks: Run writes the lines that it has queued. The buffered backend of the apiserver bounds
// events by their number alone, and says nothing of those that it drops. It is safe for concurrent use.
type Log struct {
	out     io.WriteCloser
	log     *zap.Logger
	metrics *Metrics
	lines   chan []byte
	bytes   atomic.Int64 // of lines
	lost    atomic.Int64 // events since the last report
	torn    bool         // the last write has failed; of the goroutine of Run
}

// New returns a Log that writes to out and closes it when Run ends.
func New(out io.WriteCloser, log *zap.Logger, m *Metrics) *Log {
	return &Log{out: out, log: log, metrics: m, lines: make(chan []byte, maxEvents)}
}

// add queues a line, or drops it if the queue is full.
func (l *Log) add(line []byte) {
	if l.bytes.Add(int64(len(line))) <= maxQueued {
		select {
		case l.lines <- line:
			return
		default:
		}
	}
	l.bytes.Add(-int64(len(line)))
	l.lose(dropped)
}

// lose counts an event that will not be in the file.
func (l *Log) lose(result string) {
	l.lost.Add(1)
	l.metrics.events.WithLabelValues(result).Inc()
}

// Run writes the queued events until ctx ends, then for up to five seconds those that remain, and closes the file. A write that
// does not return then is left behind. It always returns nil.
func (l *Log) Run(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.writeUntil(ctx)
	}()
	<-ctx.Done()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWrites)
	defer cancel()
	if !wait.For(last, done, nil) {
		l.log.Warn("audit log is not written to the end")
	}
	return nil
}

func (l *Log) writeUntil(ctx context.Context) {
	defer l.out.Close()
	report := time.NewTicker(reportEvery)
	defer report.Stop()
	for {
		select {
		case line := <-l.lines:
			l.writeLine(line)
		case <-report.C:
			l.report()
		case <-ctx.Done():
			for len(l.lines) > 0 {
				l.writeLine(<-l.lines)
			}
			l.report()
			return
		}
	}
}

func (l *Log) writeLine(line []byte) {
	l.bytes.Add(-int64(len(line)))
	if line = append(line, '\n'); l.torn {
		line = append([]byte{'\n'}, line...) // a full disk may have a part of the last one
	}
	_, err := l.out.Write(line)
	if l.torn = err != nil; l.torn {
		l.lose(failed)
		return
	}
	l.metrics.events.WithLabelValues(written).Inc()
}

// report logs how many events were lost, if any were.
func (l *Log) report() {
	if lost := l.lost.Swap(0); lost > 0 {
		l.log.Warn("audit events are lost", zap.Int64("events", lost))
	}
}
