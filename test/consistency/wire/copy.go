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
)

// chunk is a part of a stream and the time when it was read.
type chunk struct {
	data []byte
	read time.Time
}

// copyLater copies each chunk once a delay has passed since it was read. The caller ends src with ctx.
func copyLater(ctx context.Context, dst io.Writer, src io.Reader, delay func() time.Duration) (err error) {
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
		if err = sleep(ctx, time.Until(c.read.Add(delay()))); err == nil {
			_, err = dst.Write(c.data)
		}
		if err != nil {
			return err
		}
	}
	return end
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
