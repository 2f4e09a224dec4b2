package cache

import (
	"slices"
	"sort"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/klauspost/compress/zstd"

	"sluice/cache/tree"
)

const (
	// statesPart of the memory of a history, as a divisor, is for events with the states after them, however many are archived.
	statesPart = 10
	// dictionaryBytes is the length of a dictionary, and dictionaryEvents is how many events it serves.
	dictionaryBytes, dictionaryEvents = 128 << 10, 16 << 10
	// markPiece is how many marks are looked at under one lock.
	markPiece = 16 << 10
	// unpackPiece is about how many bytes of events a reader has decoded at once, but for a longer one.
	unpackPiece = 64 << 10
	// archivedBytes is about how much memory an archived event takes besides its content, with its part of the dictionary.
	archivedBytes = 88
)

// archive has the older events of a history that would exceed its memory: compressed, without the states after them. An event
// is compressed by itself, against a dictionary of others from the same time, so that a watch which resumes decodes only
// events of its scope. Its store's mutex guards it.
type archive struct {
	events  []archivedEvent // by position, from trimmed+1 on
	marks   []marks         // of the scopes that they concern; apart from them, since cursors look at many
	trimmed uint64          // position of the newest event that was removed
	bytes   int64           // memory
}

// archivedEvent is an event of an archive.
type archivedEvent struct {
	content    []byte // a compressed content
	dictionary *dictionary
	rv         uint64
	at         int64  // Unix nanoseconds
	length     uint32 // of the content, not compressed
	typ        Type
	shares     bool
}

// dictionary has the contents of some events.
type dictionary struct{ bytes []byte }

// content is the part of an event that is compressed.
type content struct {
	Object   *tree.Object
	Previous *tree.Object // nil if a selector selects it just as Object
}

// isAfter is Event.isAfter.
func (a *archivedEvent) isAfter(version uint64) bool {
	return a.rv > version || a.rv == version && a.shares
}

func (a *archive) add(e archivedEvent, of marks) {
	a.events, a.marks = append(a.events, e), append(a.marks, of)
	a.bytes += e.size()
}

// pop removes and returns the oldest event, which must exist.
func (a *archive) pop() (archivedEvent, marks) {
	e, of := a.events[0], a.marks[0]
	a.events[0] = archivedEvent{}
	a.events, a.marks = a.events[1:], a.marks[1:]
	if len(a.events) == 0 {
		a.events, a.marks = nil, nil // the arrays are as long as the archive was
	}
	a.trimmed++
	a.bytes -= e.size()
	return e, of
}

func (a *archivedEvent) size() int64 { return int64(len(a.content)) + archivedBytes }

// since returns the index of the first event that a reader of a state at version may lack.
func (a *archive) since(version uint64) int {
	return sort.Search(len(a.events), func(i int) bool { return a.events[i].isAfter(version) })
}

// find returns events of a scope which follow position and which a reader at version may lack, at most so many and unpackPiece
// bytes, and the position of the last event that it has looked at.
func (a *archive) find(s Scope, position, version uint64, most int) (found []*Event, packed []archivedEvent, last uint64) {
	m, first, size := s.mark(), int(position-a.trimmed), uint32(0)
	for i := first; i < min(first+markPiece, len(a.events)) && len(found) < most && size < unpackPiece; i++ {
		last = a.trimmed + uint64(i) + 1
		if !a.marks[i].have(m) {
			continue
		}
		if e := &a.events[i]; e.isAfter(version) {
			found = append(found, &Event{Type: e.typ, RV: e.rv, At: time.Unix(0, e.at), position: last, shares: e.shares})
			packed, size = append(packed, *e), size+e.length
		}
	}
	return found, packed, last
}

// count returns how many of the next markPiece events after version may be in a scope, and when the first was received.
func (a *archive) count(s Scope, version uint64) (n int, since time.Time) {
	m, first := s.mark(), sort.Search(len(a.events), func(i int) bool { return a.events[i].rv > version })
	for i := first; i < min(first+markPiece, len(a.events)); i++ {
		if a.marks[i].have(m) {
			if n++; n == 1 {
				since = time.Unix(0, a.events[i].at)
			}
		}
	}
	return n, since
}

// contents reads contents as they were written: strings need not be UTF-8.
var contents, _ = cbor.DecOptions{UTF8: cbor.UTF8DecodeInvalid, MaxArrayElements: 1 << 30}.DecMode()

// unpack completes events with their contents.
func unpack(events []*Event, packed []archivedEvent) error {
	var decoder *zstd.Decoder
	for i, a := range packed {
		var err error
		if i == 0 || packed[i-1].dictionary != a.dictionary {
			decoder, err = zstd.NewReader(nil, zstd.WithDecoderDictRaw(0, a.dictionary.bytes), zstd.WithDecoderConcurrency(1))
			if err != nil {
				return err
			}
		}
		data, err := decoder.DecodeAll(a.content, nil)
		if err != nil {
			return err
		}
		var c content
		if err := contents.Unmarshal(data, &c); err != nil {
			return err
		}
		e := events[i]
		if e.Object, e.Previous = c.Object, c.Previous; e.Previous == nil && e.Type != Added {
			e.Previous = e.Object
		}
		e.frames.Retire()
	}
	return nil
}

// packer compresses events. It is for one goroutine.
type packer struct {
	dictionary *dictionary
	encoder    *zstd.Encoder
	serves     int // how many events the dictionary still serves
}

// renew makes a dictionary of events.
func (p *packer) renew(like []*Event) error {
	var d []byte
	for _, e := range like {
		data, err := contentOf(e)
		if err != nil {
			return err
		}
		d = append(d, data...)
	}
	p.dictionary, p.serves = &dictionary{slices.Clone(d[:min(len(d), dictionaryBytes)])}, dictionaryEvents
	var err error
	p.encoder, err = zstd.NewWriter(nil, zstd.WithEncoderDictRaw(0, p.dictionary.bytes), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false))
	return err
}

func contentOf(e *Event) ([]byte, error) {
	c := content{Object: e.Object}
	if p := e.Previous; p != nil && !(slices.Equal(p.Labels, e.Object.Labels) && slices.Equal(p.Fields, e.Object.Fields)) {
		c.Previous = p
	}
	return cbor.Marshal(c)
}

// pack compresses an event. like returns it and others, for a dictionary.
func (p *packer) pack(e *Event, like func() []*Event) (archivedEvent, error) {
	if p.serves == 0 {
		if err := p.renew(like()); err != nil {
			return archivedEvent{}, err
		}
	}
	data, err := contentOf(e)
	if err != nil {
		return archivedEvent{}, err
	}
	p.serves--
	return archivedEvent{
		content: slices.Clone(p.encoder.EncodeAll(data, nil)), dictionary: p.dictionary,
		rv: e.RV, at: e.At.UnixNano(), length: uint32(len(data)), typ: e.Type, shares: e.shares,
	}, nil
}
