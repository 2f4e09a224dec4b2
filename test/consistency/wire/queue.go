package wire

import (
	"context"
	"io"
	"time"
)

const (
	// chunkSize is how much is read at once.
	chunkSize = 16 << 10
	// queueLength bounds what is under way, in chunks. What is beyond waits
	// where it comes from, as with a full socket.
	queueLength = 256
)

// chunk is a piece of a stream that is under way.
type chunk struct {
	data []byte
	read time.Time
}

// queue is a stream between its source and its destination.
type queue struct {
	chunks chan chunk // closed by fill
	err    error      // how the source ended; to be read when chunks is closed
}

func newQueue() *queue { return &queue{chunks: make(chan chunk, queueLength)} }

// fill reads the source until it ends or the context does.
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

// take returns the next chunk when it has been under way for the delay.
func (q *queue) take(ctx context.Context, delay func() time.Duration) ([]byte, error) {
	select {
	case c, ok := <-q.chunks:
		if !ok {
			return nil, q.err
		}
		return c.data, wait(ctx, time.Until(c.read.Add(delay())))
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// wait lets a time pass, unless the context ends.
func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
