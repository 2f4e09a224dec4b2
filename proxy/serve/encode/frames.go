package encode

import (
	"encoding/binary"
	"time"

	"sluice/cache"
	"sluice/cache/tree"
	"sluice/codec/splice"
	"sluice/codec/table"
)

// Block returns the frame of an event that all watches of the format in one coding share.
func (e *Format) Block(event *cache.Event, t cache.Type, coding splice.Coding) (splice.Block, error) {
	packed, err := event.Frame(blockEncoder{e, coding}, t)
	if err != nil {
		return splice.Block{}, err
	}
	return splice.Unpack(packed), nil
}

// AgedBlock returns the compressed frame of an event of Tables. It returns nil once an age is printed differently.
func (e *Format) AgedBlock(event *cache.Event, t cache.Type, coding splice.Coding) (*splice.Block, error) {
	packed, err := event.Frame(agedFrames{agelessFrames{e}, coding}, t)
	if err != nil {
		return nil, err
	}
	if b := unpackAged(packed); b.valid.has(time.Now()) {
		return b.block, nil
	}
	return nil, nil
}

// WriteAged writes an event of Tables with its ages as of now.
func (e *Format) WriteAged(event *cache.Event, t cache.Type, write func(text []byte) error) error {
	packed, err := event.Frame(agelessFrames{e}, t)
	if err != nil {
		return err
	}
	var ages [4]table.Age
	text := table.Unpack(packed, ages[:0])
	scratch := scratches.Get().(*[]byte)
	filled := text.AppendAt((*scratch)[:0], time.Now())
	if err := write(filled); err != nil {
		return err // the connection may still read the buffer
	}
	recycle(scratch, filled)
	return nil
}

// blockEncoder is a cache.Encoder whose frames are packed blocks.
type blockEncoder struct {
	encoder *Format
	coding  splice.Coding
}

// AppendEvent implements cache.Encoder.
func (b blockEncoder) AppendEvent(dst []byte, t cache.Type, o *tree.Object) ([]byte, error) {
	return b.pack(dst, func(text []byte) ([]byte, error) { return b.encoder.AppendEvent(text, t, o) })
}

// AppendDeletedFromSelection implements cache.Encoder.
func (b blockEncoder) AppendDeletedFromSelection(dst []byte, o *tree.Object, rv uint64) ([]byte, error) {
	return b.pack(dst, func(text []byte) ([]byte, error) { return b.encoder.AppendDeletedFromSelection(text, o, rv) })
}

func (b blockEncoder) pack(dst []byte, encode func([]byte) ([]byte, error)) ([]byte, error) {
	block, err := compressBlock(b.coding, encode)
	if err != nil {
		return dst, err
	}
	return block.Pack(dst), nil
}

// agelessFrames is a cache.Encoder whose frames are packed texts.
type agelessFrames struct{ encoder *Format }

// AppendEvent implements cache.Encoder.
func (f agelessFrames) AppendEvent(dst []byte, t cache.Type, o *tree.Object) ([]byte, error) {
	text, err := f.text(t, o)
	if err != nil {
		return dst, err
	}
	return text.Pack(dst), nil
}

// AppendDeletedFromSelection implements cache.Encoder.
func (f agelessFrames) AppendDeletedFromSelection(dst []byte, o *tree.Object, rv uint64) ([]byte, error) {
	deleted, err := f.encoder.DeletedFromSelection(o, rv)
	if err != nil {
		return dst, err
	}
	return f.AppendEvent(dst, cache.Deleted, deleted)
}

func (f agelessFrames) text(t cache.Type, o *tree.Object) (table.Text, error) {
	var text table.Text
	var err error
	text.Bytes, err = f.encoder.Ageless(&text.Ages).AppendEvent(nil, t.String(), o.Data, false)
	return text, f.encoder.check(err)
}

// agedFrames is a cache.Encoder whose frames are packed blocks with their validity.
type agedFrames struct {
	agelessFrames
	coding splice.Coding
}

// AppendEvent implements cache.Encoder.
func (f agedFrames) AppendEvent(dst []byte, t cache.Type, o *tree.Object) ([]byte, error) {
	text, err := f.text(t, o)
	if err != nil {
		return dst, err
	}
	var b agedBlock
	if _, err := b.compress(f.coding, &text, time.Now()); err != nil {
		return dst, err
	}
	n := b.newest.Load()
	dst = n.block.Pack(dst)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(n.valid.from))
	return binary.LittleEndian.AppendUint64(dst, uint64(n.valid.until)), nil
}

// AppendDeletedFromSelection implements cache.Encoder.
func (f agedFrames) AppendDeletedFromSelection(dst []byte, o *tree.Object, rv uint64) ([]byte, error) {
	deleted, err := f.encoder.DeletedFromSelection(o, rv)
	if err != nil {
		return dst, err
	}
	return f.AppendEvent(dst, cache.Deleted, deleted)
}

// unpackAged returns the block in a frame of agedFrames.
func unpackAged(packed []byte) blockAt {
	n := len(packed) - 16
	b := splice.Unpack(packed[:n])
	return blockAt{&b, validity{
		from:  int64(binary.LittleEndian.Uint64(packed[n:])),
		until: int64(binary.LittleEndian.Uint64(packed[n+8:])),
	}}
}

var (
	_ cache.Encoder = blockEncoder{}
	_ cache.Encoder = agelessFrames{}
	_ cache.Encoder = agedFrames{}
)
