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

// queue takes lines and never blocks: run writes them to the file. The buffered backend of the apiserver bounds events
// by their number alone, and says nothing of those that it drops.
type queue struct {
	out     io.WriteCloser
	log     *zap.Logger
	metrics *Metrics
	lines   chan []byte
	bytes   atomic.Int64 // of lines
	lost    atomic.Int64 // events since the last report
}

func newQueue(out io.WriteCloser, log *zap.Logger, m *Metrics) *queue {
	return &queue{out: out, log: log, metrics: m, lines: make(chan []byte, maxEvents)}
}

// add queues a line, or drops it if the queue is full.
func (q *queue) add(line []byte) {
	if q.bytes.Add(int64(len(line))) <= maxQueued {
		select {
		case q.lines <- line:
			return
		default:
		}
	}
	q.bytes.Add(-int64(len(line)))
	q.lose(dropped)
}

// lose counts an event that will not be in the file.
func (q *queue) lose(result string) {
	q.lost.Add(1)
	q.metrics.events.WithLabelValues(result).Inc()
}

// run writes until ctx ends, then the rest of the queue, and closes the file. A write that does not return then
// is left behind.
func (q *queue) run(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		q.writeUntil(ctx)
	}()
	<-ctx.Done()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWrites)
	defer cancel()
	if !wait.For(last, done, nil) {
		q.log.Warn("audit log is not written to the end")
	}
}

func (q *queue) writeUntil(ctx context.Context) {
	defer q.out.Close()
	report := time.NewTicker(reportEvery)
	defer report.Stop()
	for {
		select {
		case line := <-q.lines:
			q.write(line)
		case <-report.C:
			q.report()
		case <-ctx.Done():
			for len(q.lines) > 0 {
				q.write(<-q.lines)
			}
			q.report()
			return
		}
	}
}

func (q *queue) write(line []byte) {
	q.bytes.Add(-int64(len(line)))
	if _, err := q.out.Write(append(line, '\n')); err != nil {
		q.lose(failed)
		return
	}
	q.metrics.events.WithLabelValues(written).Inc()
}

// report logs how many events were lost, if any were.
func (q *queue) report() {
	if lost := q.lost.Swap(0); lost > 0 {
		q.log.Warn("audit events are lost", zap.Int64("events", lost))
	}
}
