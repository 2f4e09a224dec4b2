package wire

import (
	"context"
	"io"
	"time"
)

const (
	// chunkSize is the size of one read, in bytes.
	chunkSize = 16 << 10
	// queueLength bounds a queue, in chunks. A full queue blocks its source, as a full socket does.
	queueLength = 256
)

// chunk is a part of a stream and the time when it was read.
type chunk struct {
	data []byte
	read time.Time
}

// queue holds the chunks of a stream between source and destination.
type queue struct {
	chunks chan chunk // closed by fill
	err    error      // of the source; valid once chunks is closed
}

func newQueue() *queue { return &queue{chunks: make(chan chunk, queueLength)} }

// fill reads the source until the source or the context ends.
func (q *queue) fill(ctx context.Context, src io.Reader) {
	defer close(q.chunks)
	for {
		buf := make([]byte, chunkSize)
		n, err := src.Read(buf)
		if n > 0 {
			select {
			case q.chunks <- chunk{buf[:n], time.Now()}:
			case <-ctx.Done():
				err = ctx.Err()
			}
		}
		if err != nil {
			q.err = err
			return
		}
	}
}

// take returns the next chunk once the delay has passed since it was read.
func (q *queue) take(ctx context.Context, delay func() time.Duration) ([]byte, error) {
	select {
	case c, ok := <-q.chunks:
		if !ok {
			return nil, q.err
		}
		return c.data, sleep(ctx, time.Until(c.read.Add(delay())))
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// sleep waits for d or the end of the context.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
