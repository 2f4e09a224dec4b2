package encode

import (
	"sluice/cache"
	"sluice/cache/tree"
	"sluice/codec/splice"
	"sluice/codec/table"
)

// Frames returns the encoder of the frames that all watches of the format in one coding share. Those that are compressed are
// packed blocks.
func (e *Format) Frames(coding splice.Coding) cache.Encoder {
	if coding == splice.Identity {
		return e
	}
	return blockEncoder{e, coding}
}

// WriteAged writes an event of Tables with its ages as of now. The budget keeps the text without ages.
func (e *Format) WriteAged(b *tree.Budget, event *cache.Event, t cache.Type, write func(text []byte) error) error {
	packed, err := event.Frame(b, agelessFrames{e}, t)
	if err != nil {
		return err
	}
	var ages [4]table.Age
	text := table.Unpack(packed, ages[:0])
	scratch := scratches.Get().(*[]byte)
	filled := text.AppendAt((*scratch)[:0], e.now())
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
	_ cache.QuietEncoder = blockEncoder{}
	_ cache.Encoder      = agelessFrames{}
)
