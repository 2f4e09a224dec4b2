package serve

import (
	"sluice/codec/splice"
	"sluice/proxy/response"
)

// splicePays is how many stored bytes a list must have before its compressed
// blocks are looked for; what is shorter is compressed as it is written, if it
// turns out to be long enough.
const splicePays = response.CompressFrom / 4

// splicer writes a list as a compressed stream of blocks, one after the other. It
// writes nothing before the list is known to be long enough for that.
type splicer struct {
	out     *body
	stream  *splice.Stream
	pending []*splice.Block // not written yet
	begun   bool
}

// splice writes the list out of compressed blocks. It reports false if the list
// is not to be compressed, or too short for that: nothing has been written then.
// What tells ages has no blocks to share.
func (l *listing) splice(out *body, size int) (bool, error) {
	if l.runs == nil || l.bytes < splicePays || out.coding == splice.Identity || l.encoder.Format().AgesWithTime() {
		return false, nil
	}
	s := splicer{out: out, stream: splice.NewStream(out.coding)}
	if err := s.store(l.encoder.AppendListHead(nil, l.meta, l.n, size)); err != nil {
		return false, err
	}
	comma, first := out.coding.Store(nil, []byte(l.encoder.Separator())), true
	for run := range bounded(l.runs) {
		block, err := l.block(out.coding, run)
		if err == nil && !first {
			err = s.add(&comma)
		}
		if err == nil {
			err = s.add(block)
		}
		if err != nil {
			return false, err
		}
		first = false
	}
	if err := s.store(l.encoder.AppendListTail(nil, l.meta, l.n)); err != nil {
		return false, err
	}
	return s.end()
}

// store adds what is too short to gain.
func (s *splicer) store(text []byte) error {
	b := s.out.coding.Store(nil, text)
	return s.add(&b)
}

func (s *splicer) add(b *splice.Block) error {
	s.stream.Add(b)
	s.pending = append(s.pending, b)
	if !s.pays() {
		return nil
	}
	return s.flush()
}

// pays reports whether the list is long enough. Once it is, it remains so.
func (s *splicer) pays() bool { return s.stream.Plain() > response.CompressFrom }

func (s *splicer) flush() error {
	if !s.begun {
		s.begun = true
		response.SetCoding(s.out.w.Header(), s.out.coding)
		s.out.buf = s.stream.Begin(s.out.buf)
	}
	for _, b := range s.pending {
		if err := s.out.part(b.Data); err != nil {
			return err
		}
	}
	s.pending = s.pending[:0]
	return nil
}

func (s *splicer) end() (bool, error) {
	if !s.pays() {
		return false, nil
	}
	if err := s.flush(); err != nil {
		return false, err
	}
	s.out.buf = s.stream.End(s.out.buf)
	return true, s.out.flush()
}
