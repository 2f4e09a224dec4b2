package mirror

import (
	"sync"

	"sluice/cache"
	"sluice/codec"
)

// Collection is a store in sync and what has to be known to serve it.
type Collection struct {
	Store    *cache.Store
	Resource codec.Resource
	// Warnings are the values of the Warning headers that the upstream adds
	// to reads of this resource.
	Warnings []string

	encoders sync.Map // codec.Format to *Encoder
}

// Encoder returns the encoder for a format, always the same one, so that its
// watchers share frames. It returns codec.ErrUnsupported if the stored bytes
// cannot be turned into that format exactly.
func (c *Collection) Encoder(f codec.Format) (*Encoder, error) {
	if e, ok := c.encoders.Load(f); ok {
		return e.(*Encoder), nil
	}
	w, err := codec.NewWriter(&c.Resource, f)
	if err != nil {
		return nil, err
	}
	e, _ := c.encoders.LoadOrStore(f, &Encoder{w})
	return e.(*Encoder), nil
}

// Encoder writes the objects of one collection in one format.
type Encoder struct{ *codec.Writer }

// AppendEvent implements cache.Encoder.
func (e *Encoder) AppendEvent(dst []byte, t cache.Type, o *cache.Object) ([]byte, error) {
	return e.Writer.AppendEvent(dst, t.String(), o.Data, false)
}

var _ cache.Encoder = (*Encoder)(nil)
