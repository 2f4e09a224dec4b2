package audit

import (
	"bytes"
	"context"
	"io"
	"sync"
	"time"

	"go.uber.org/zap"
)

const (
	// maxQueued bounds the events that wait to be written, in bytes: some 10,000.
	maxQueued = 16 << 20
	// maxWrite bounds the bytes of one write to the file, unless a single event is longer.
	maxWrite = 64 << 10
	// lastWrites is how long the events that remain at the end may take.
	lastWrites = 5 * time.Second
	// reportEvery is the least time between two log lines about lost events.
	reportEvery = time.Minute
)

// queue is a Writer of whole lines that never blocks: run writes them to the file.
type queue struct {
	out     io.WriteCloser
	log     *zap.Logger
	metrics *Metrics
	ready   chan struct{} // has an element while pending is not empty

	mu      sync.Mutex // guards what follows
	pending []byte     // lines
	lost    int        // events since the last report
}

func newQueue(out io.WriteCloser, log *zap.Logger, m *Metrics) *queue {
	return &queue{out: out, log: log, metrics: m, ready: make(chan struct{}, 1)}
}

// Write queues a line, or drops it if the queue is full. It always succeeds.
func (q *queue) Write(line []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.pending)+len(line) > maxQueued {
		q.lost++
		q.metrics.events.WithLabelValues(dropped).Inc()
		return len(line), nil
	}
	q.pending = append(q.pending, line...)
	select {
	case q.ready <- struct{}{}:
	default:
	}
	return len(line), nil
}

// take returns what is queued and leaves the buffer in its place.
func (q *queue) take(buffer []byte) []byte {
	q.mu.Lock()
	defer q.mu.Unlock()
	lines := q.pending
	q.pending = buffer[:0]
	return lines
}

// run writes until ctx ends, then what remains, and closes the file. A write that does not return then
// is left behind.
func (q *queue) run(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		q.writeUntil(ctx)
	}()
	<-ctx.Done()
	t := time.NewTimer(lastWrites)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
		q.log.Warn("audit log is not written to the end")
	}
}

func (q *queue) writeUntil(ctx context.Context) {
	defer q.out.Close()
	report := time.NewTicker(reportEvery)
	defer report.Stop()
	var buffer []byte
	for {
		select {
		case <-q.ready:
			buffer = q.take(buffer)
			q.write(buffer)
			if cap(buffer) > 4*maxWrite {
				buffer = nil
			}
		case <-report.C:
			q.report()
		case <-ctx.Done():
			q.write(q.take(nil))
			q.report()
			return
		}
	}
}

// write writes lines, as many at once as fit into maxWrite.
func (q *queue) write(lines []byte) {
	for len(lines) > 0 {
		end := bytes.LastIndexByte(lines[:min(len(lines), maxWrite)], '\n') + 1
		if end == 0 {
			end = bytes.IndexByte(lines, '\n') + 1
		}
		piece := lines[:end]
		lines = lines[end:]
		events := bytes.Count(piece, []byte{'\n'})
		if _, err := q.out.Write(piece); err != nil {
			q.metrics.events.WithLabelValues(failed).Add(float64(events))
			q.mu.Lock()
			q.lost += events
			q.mu.Unlock()
			continue
		}
		q.metrics.events.WithLabelValues(written).Add(float64(events))
	}
}

// report logs how many events were lost, if any were.
func (q *queue) report() {
	q.mu.Lock()
	lost := q.lost
	q.lost = 0
	q.mu.Unlock()
	if lost > 0 {
		q.log.Warn("audit events are lost", zap.Int("events", lost))
	}
}
