package body

import (
	"sluice/cache/tree"
	"sluice/codec/splice"
	"sluice/proxy/serve/encode"
)

// Items writes the items of a list, or the initial events of a watch, shared ones out of the memo.
type Items struct {
	*Body
	Segments *encode.Segments
	// Blocks has runs written as memoized blocks, if the client accepts a coding.
	Blocks bool
	// First makes the next object the first event of a watch of Tables, which has the columns. It is not memoized.
	First     bool
	separator string // before the next item
}

func (w *Items) separate() {
	w.Text = append(w.Text, w.separator...)
	w.separator = w.Segments.Separator()
}

// Run writes the objects of a run.
func (w *Items) Run(r tree.Run) error {
	if err := w.Work.Next(); err != nil {
		return err
	}
	switch pays := w.Segments.Pays(r) && !w.First; {
	case pays && w.Blocks && w.accepted != splice.Identity && w.Segments.MemoizesBlock(r):
		b, err := w.Segments.Block(w.accepted, r)
		if err != nil {
			return err
		}
		w.separate()
		return w.Block(b)
	case pays && w.Segments.MemoizesText(r):
		return w.shared(r)
	}
	for _, o := range r.Objects() {
		if err := w.object(o); err != nil {
			return err
		}
	}
	return nil
}

// shared writes the memoized text of a run.
func (w *Items) shared(r tree.Run) error {
	parts, err := w.Segments.Parts(r)
	if err != nil {
		return err
	}
	w.separate()
	for part := range parts {
		if err := w.Add(part); err != nil {
			return err
		}
	}
	return nil
}

// object writes an object that is not shared.
func (w *Items) object(o *tree.Object) (err error) {
	if err := w.Work.Next(); err != nil {
		return err
	}
	w.separate()
	if w.Segments.Verbatim() {
		return w.Add(o.Data)
	}
	if err := w.Reserve(); err != nil {
		return err
	}
	if w.Text, err = w.Segments.Append(w.Text, o, w.First); err != nil {
		return err
	}
	w.First = false
	if err := w.Count(); err != nil {
		return err
	}
	return w.spill()
}
