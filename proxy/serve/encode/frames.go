package encode

import (
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
	*Format
	coding splice.Coding
}

// AppendEvent implements cache.Encoder.
func (b blockEncoder) AppendEvent(dst []byte, t cache.Type, o *tree.Object) ([]byte, error) {
	block, err := compressBlock(b.coding, func(text []byte) ([]byte, error) { return b.Format.AppendEvent(text, t, o) })
	if err != nil {
		return dst, err
	}
	return block.Pack(dst), nil
}

// agelessFrames is a cache.Encoder whose frames are packed texts.
type agelessFrames struct{ *Format }

// AppendEvent implements cache.Encoder.
func (f agelessFrames) AppendEvent(dst []byte, t cache.Type, o *tree.Object) ([]byte, error) {
	var text table.Text
	var err error
	if text.Bytes, err = f.Ageless(&text.Ages).AppendEvent(nil, t.String(), o.Data, false); err != nil {
		return dst, f.check(err)
	}
	return text.Pack(dst), nil
}

var (
	_ cache.Encoder = blockEncoder{}
	_ cache.Encoder = agelessFrames{}
)
