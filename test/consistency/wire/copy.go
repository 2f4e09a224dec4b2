package wire

import (
	"context"
	"io"
	"time"
)

const (
	// chunkSize is the size of one read, in bytes.
	chunkSize = 16 << 10
	// queueLength bounds the chunks that wait. Then the source is blocked, as by a full socket.
	queueLength = 256
	// poll is how often a chunk that waits looks whether the delay has changed.
	poll = 5 * time.Millisecond
)

// chunk is a part of a stream and the time when it was read.
type chunk struct {
	data []byte
	read time.Time
}

// copyLater writes each chunk once a delay has passed since it was read. The caller ends src with ctx.
func copyLater(ctx context.Context, write func([]byte) (int, error), src io.Reader, delay func() time.Duration) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	chunks := make(chan chunk, queueLength)
	var end error // of src; valid once chunks is closed
	go func() {
		defer close(chunks)
		for n := 0; end == nil; {
			buf := make([]byte, chunkSize)
			if n, end = src.Read(buf); n == 0 {
				continue
			}
			select {
			case chunks <- chunk{buf[:n], time.Now()}:
			case <-ctx.Done():
				return
			}
		}
	}()
	for c := range chunks {
		for left := delay() - time.Since(c.read); left > 0; left = delay() - time.Since(c.read) {
			select {
			case <-time.After(min(left, poll)):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if _, err := write(c.data); err != nil {
			return err
		}
	}
	return end
}
