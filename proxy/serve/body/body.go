package body

import (
	"errors"
	"net/http"

	"sluice/codec/negotiate"
	"sluice/codec/splice"
	"sluice/proxy/flowcontrol"
	"sluice/proxy/limits"
	"sluice/proxy/request"
	"sluice/proxy/response"
	"sluice/proxy/serve/encode"
	"sluice/proxy/serve/fresh"
	"sluice/proxy/serve/outcome"
)

// Body writes the body of a response. It sends the headers with the first byte, so that until then the request can
// still pass. A body that is longer than response.CompressFrom is compressed if the client accepts it, as a stream of
// blocks: text is compressed piece by piece, and between its pieces there may be blocks that are compressed already.
type Body struct {
	buffers
	Work   *flowcontrol.Work
	Client *response.WriteDeadline

	w        http.ResponseWriter
	head     fresh.Head
	info     *request.Info // its Encoded counts the bytes before compression
	accepted splice.Coding
	coding   splice.Coding // of the body, once it is started
	started  bool          // the headers are sent
	watch    bool          // the body is a watch, each text of which is sent at once
	stream   *splice.Stream
	pending  []*splice.Block // of a body that is not started
}

// smallText is the length below which the text of a list gains nothing by compression: separators, heads and tails.
const smallText = 4 << 10

// New returns a body with about so many bytes of text for a client that accepts a coding. It ends in time, and if others
// need its memory; a watch, whose coding is decided, ends as its caller says, who sets Hold.
func New(w http.ResponseWriter, head fresh.Head, work *flowcontrol.Work, accepted splice.Coding, bytes int64) *Body {
	b := &Body{
		Work: work, Client: response.NewWriteDeadline(w), w: w, head: head, info: head.Plan.Info, accepted: accepted,
		watch:   head.Plan.Verb == negotiate.Watch,
		buffers: buffers{expected: int(min(bytes, encode.PieceSize))}, stream: splice.NewStream(accepted),
	}
	if !b.watch {
		b.Client.EndWithin(response.ResponseTimeout)
		b.Hold, _ = b.info.Account.TakeUntil(0, func() { b.Client.EndWithin(0) })
	}
	return b
}

// Outcome returns the outcome of a request whose response has ended with an error, or nil: before its first byte it
// passes, or is refused.
func (b *Body) Outcome(err error) error {
	refused, tooMuch := errors.AsType[*limits.Refused](err)
	switch {
	case err == nil:
		return nil
	case b.Hold.Revoked() || tooMuch && b.started:
		b.info.Outcome.Reason = limits.TooMuch
		return err
	case b.started:
		return err
	case tooMuch:
		return &outcome.Refused{Reason: limits.TooMuch, Err: refused}
	}
	return outcome.UnservedFormat // an object cannot be encoded
}

// Release returns the buffers.
func (b *Body) Release() {
	b.Client.Stop()
	b.Hold.Release()
	b.recycle()
}

// Start sends the headers and the pending bytes. long says whether the body is long enough to be compressed.
func (b *Body) Start(long bool) error {
	b.started = true
	b.head.Set(b.w.Header())
	if long && b.accepted != splice.Identity {
		b.coding = b.accepted
		response.SetCoding(b.w.Header(), b.coding)
	}
	b.w.WriteHeader(http.StatusOK)
	if b.coding == splice.Identity {
		return nil
	}
	if err := b.write(b.stream.Begin(nil)); err != nil {
		return err
	}
	for _, block := range b.pending {
		if err := b.writeBlock(block); err != nil {
			return err
		}
	}
	b.pending = nil
	return nil
}

// spill writes the gathered text if it is longer than a piece.
func (b *Body) spill() error {
	if len(b.Text) <= encode.PieceSize {
		return nil
	}
	return b.gathered(true)
}

// Add adds text, without copying it if it is long.
func (b *Body) Add(text []byte) error {
	if len(b.Text)+len(text) > encode.PieceSize {
		return b.Write(text)
	}
	if err := b.Reserve(); err != nil {
		return err
	}
	b.Text = append(b.Text, text...)
	return b.Count()
}

// Write writes text, after the text that has been gathered.
func (b *Body) Write(text []byte) error {
	if err := b.gathered(true); err != nil {
		return err
	}
	return b.writeText(text)
}

// Block adds a block in the accepted coding. Nothing is written before the body is known to be long enough to be
// compressed.
func (b *Body) Block(block *splice.Block) error {
	if b.started || b.plain()+block.Plain > response.CompressFrom {
		if err := b.gathered(true); err != nil {
			return err
		}
		b.stream.Add(block)
		return b.writeBlock(block)
	}
	text := b.pack(nil, b.Text)
	b.Text = b.Text[:0]
	for _, block := range []*splice.Block{&text, block} {
		b.stream.Add(block)
		b.pending = append(b.pending, block)
	}
	return nil
}

// Frame writes a frame of the event of a watch, which is a packed block unless the coding is Identity.
func (b *Body) Frame(frame []byte) error {
	if b.coding == splice.Identity {
		return b.Write(frame)
	}
	block := splice.Unpack(frame)
	return b.Block(&block)
}

// plain returns the length, before compression, of the text that is gathered and of all blocks.
func (b *Body) plain() int { return int(b.stream.Plain()) + len(b.Text) }

// Finish writes the rest of the body. It reports false if the body has blocks and is too short to be compressed:
// nothing has been written then, and the body can be written again as text.
func (b *Body) Finish() (bool, error) {
	long := b.plain() > response.CompressFrom
	if len(b.pending) > 0 && !long {
		b.Text, b.pending, b.stream = b.Text[:0], nil, splice.NewStream(b.accepted)
		return false, nil
	}
	if err := b.gathered(long); err != nil || b.coding == splice.Identity {
		return true, err
	}
	return true, b.write(b.stream.End(nil))
}

// End ends a watch. A stream that has not failed ends so that the client does not take it for truncated.
func (b *Body) End() {
	if !b.failed {
		_, _ = b.Finish() // an error means that the client has gone
	}
	b.Release()
}

// Flush sends everything to the client.
func (b *Body) Flush() error {
	if err := b.gathered(true); err != nil {
		return err
	}
	err := b.Client.Flush()
	b.failed = b.failed || err != nil
	return err
}

// gathered writes the gathered text. long says whether the body is long enough to be compressed, which counts before
// the first byte only.
func (b *Body) gathered(long bool) error {
	if !b.started {
		if err := b.Start(long); err != nil {
			return err
		}
	}
	text := b.Text
	b.Text = b.Text[:0]
	return b.writeText(text)
}

// writeText writes text of a body that is started.
func (b *Body) writeText(text []byte) error {
	if b.coding == splice.Identity {
		return b.write(text)
	}
	for len(text) > 0 {
		if err := b.Work.Next(); err != nil {
			return err
		}
		piece := text[:min(len(text), encode.PieceSize)]
		text = text[len(piece):]
		if b.scratch == nil {
			b.scratch = b.buffer()
			if err := b.Count(); err != nil {
				return err
			}
		}
		block := b.pack(b.scratch, piece)
		b.stream.Add(&block)
		b.Work.Add(block.Plain - len(block.Data))
		if err := b.writeBlock(&block); err != nil {
			return err
		}
	}
	return nil
}

// pack makes a block of text.
func (b *Body) pack(dst, text []byte) splice.Block {
	if len(text) < smallText && !b.watch {
		return b.accepted.Store(dst, text)
	}
	return b.accepted.Compress(dst, text)
}

func (b *Body) writeBlock(block *splice.Block) error {
	b.info.Encoded += int64(block.Plain)
	return b.write(block.Data)
}

func (b *Body) write(p []byte) error {
	err := b.Work.Write(b.Client, b.w, p)
	b.failed = b.failed || err != nil
	return err
}
