package serve

import (
	"net/http"

	"sluice/cache"
	"sluice/codec/splice"
)

// outlet is where the bytes of a watch go: to the client as they are, or
// compressed. Compressed they are one stream out of blocks, which hold no state
// of the watch, so that an event is compressed once for all.
type outlet struct {
	w       http.ResponseWriter
	client  *patience
	coding  splice.Coding
	stream  *splice.Stream
	scratch []byte
	failed  bool // a write has
}

func newOutlet(w http.ResponseWriter) *outlet { return &outlet{w: w, client: patient(w)} }

// begin sends the headers, and what precedes everything in that coding.
func (o *outlet) begin(coding splice.Coding) error {
	o.coding, o.stream = coding, splice.NewStream(coding)
	if err := o.send(o.stream.Begin(nil)); err != nil {
		return err
	}
	return o.flush()
}

// write writes what only this watch sends.
func (o *outlet) write(text []byte) error {
	if o.coding == splice.Identity {
		return o.send(text)
	}
	b := o.coding.Compress(o.scratch[:0], text)
	if cap(b.Data) <= largestPiece {
		o.scratch = b.Data
	}
	return o.block(&b)
}

// block writes a block of the outlet's coding.
func (o *outlet) block(b *splice.Block) error {
	o.stream.Add(b)
	return o.send(b.Data)
}

// frame writes an event as an encoder makes it for all watches of this coding.
func (o *outlet) frame(e *cache.Event, t cache.Type, encoder *Encoder) error {
	if o.coding == splice.Identity {
		text, err := e.Frame(encoder, t)
		if err != nil {
			return err
		}
		return o.send(text)
	}
	packed, err := e.Frame(packer{encoder, o.coding}, t)
	if err != nil {
		return err
	}
	b := splice.Unpack(packed)
	return o.block(&b)
}

func (o *outlet) send(p []byte) error {
	err := o.client.write(o.w, p)
	o.failed = o.failed || err != nil
	return err
}

func (o *outlet) flush() error {
	err := o.client.flush()
	o.failed = o.failed || err != nil
	return err
}

// end ends the stream, so that the client does not take it for cut off.
func (o *outlet) end() {
	if !o.failed {
		_ = o.send(o.stream.End(nil))
	}
}

// packer is a cache.Encoder that compresses events and packs the blocks.
type packer struct {
	of     *Encoder
	coding splice.Coding
}

// AppendEvent implements cache.Encoder.
func (p packer) AppendEvent(dst []byte, t cache.Type, o *cache.Object) ([]byte, error) {
	return p.pack(dst, func(text []byte) ([]byte, error) { return p.of.AppendEvent(text, t, o) })
}

// AppendDeletedFromSelection implements cache.Encoder.
func (p packer) AppendDeletedFromSelection(dst []byte, o *cache.Object, rv uint64) ([]byte, error) {
	return p.pack(dst, func(text []byte) ([]byte, error) { return p.of.AppendDeletedFromSelection(text, o, rv) })
}

func (p packer) pack(dst []byte, encode func([]byte) ([]byte, error)) ([]byte, error) {
	b, err := compress(p.coding, encode)
	if err != nil {
		return dst, err
	}
	return b.Pack(dst), nil
}

var _ cache.Encoder = packer{}
