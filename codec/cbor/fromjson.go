package cbor

import (
	"math"
	"slices"
	"strconv"
	"sync"
	"unsafe"

	"sluice/codec/json"
)

// AppendFromJSON appends one JSON value as CBOR, without the self-described tag. A number that is
// spelled as an integer and fits int64 becomes an integer; every other number, 1.0 and 1e3
// included, becomes a float. Of duplicate names the last counts, as for the apiserver.
//
// src must be well-formed; that is checked only as far as transcoding needs. The error is json.ErrSyntax,
// ErrNumber, or json.ErrDepth; dst is then returned unchanged.
func AppendFromJSON(dst, src []byte) ([]byte, error) {
	t := transcoders.Get().(*transcoder)
	base := len(dst)
	out, err := t.run(dst, src)
	if err == errDuplicate {
		out, err = appendDistinct(dst[:base], src)
	}
	t.release()
	if err != nil {
		return dst[:base], err
	}
	return out, nil
}

var transcoders = sync.Pool{New: func() any { return new(transcoder) }}

// transcoder is the state of one AppendFromJSON, which reads the JSON once. The length of a map or
// array is known only at its end, so the transcoder reserves one byte for its head, which suffices
// up to 23 entries. Longer heads are recorded, and openGaps makes room for all of them at the end,
// from the back, so that each byte moves at most once at any depth of nesting.
type transcoder struct {
	dst, src []byte
	depth    int
	text     []byte // scratch for an unescaped string
	names    []span // the names read so far in all open objects
	longs    []long
	err      error
}

// span is the range of a name in dst, with its head.
type span struct{ start, end int }

// long is a head for n entries at index at of dst that needs more than one byte.
type long struct{ at, n int }

// Limits of the scratch that a pooled transcoder keeps, so that one large object does not pin
// memory.
const (
	maxText  = 1 << 20 // bytes
	maxNames = 1 << 12
	maxLongs = 1 << 10
)

func (t *transcoder) release() {
	if cap(t.text) > maxText {
		t.text = nil
	}
	if cap(t.names) > maxNames {
		t.names = nil
	}
	if cap(t.longs) > maxLongs {
		t.longs = nil
	}
	t.dst, t.src = nil, nil
	transcoders.Put(t)
}

func (t *transcoder) run(dst, src []byte) ([]byte, error) {
	t.dst, t.src, t.depth, t.err = dst, src, 0, nil
	t.names, t.longs = t.names[:0], t.longs[:0]
	i := t.value(json.SkipSpace(src, 0))
	if i >= 0 {
		if i = json.SkipSpace(src, i); i < len(src) {
			t.fail(json.ErrSyntax, i)
		}
	}
	if t.err != nil {
		return nil, t.err
	}
	t.openGaps()
	return t.dst, nil
}

// fail records the first error and returns -1.
func (t *transcoder) fail(err error, i int) int {
	if t.err == nil {
		t.err = json.At(err, "JSON", i)
	}
	return -1
}

// value transcodes the value at src[i] and returns the index after it, or -1.
func (t *transcoder) value(i int) int {
	if i >= len(t.src) {
		return t.fail(json.ErrSyntax, i)
	}
	switch c := t.src[i]; c {
	case '"':
		return t.string(i)
	case '{':
		return t.object(i)
	case '[':
		return t.array(i)
	case 't':
		return t.literal(i, "true", True)
	case 'f':
		return t.literal(i, "false", False)
	case 'n':
		return t.literal(i, "null", Null)
	}
	return t.number(i)
}

func (t *transcoder) literal(i int, word string, b byte) int {
	end := i + len(word)
	if end > len(t.src) || string(t.src[i:end]) != word {
		return t.fail(json.ErrSyntax, i)
	}
	t.dst = append(t.dst, b)
	return end
}

func (t *transcoder) string(i int) int {
	end, tr := json.SkipString(t.src, i)
	if end < 0 {
		return t.fail(json.ErrSyntax, i)
	}
	raw := t.src[i+1 : end-1]
	if tr == 0 {
		t.dst = AppendString(t.dst, raw)
		return end
	}
	t.text = json.AppendUnquoted(t.text[:0], raw)
	t.dst = AppendString(t.dst, t.text)
	return end
}

func (t *transcoder) number(i int) int {
	src, j := t.src, i
	if src[j] == '-' {
		j++
	}
	start := j
	var n uint64
	for ; j < len(src) && '0' <= src[j] && src[j] <= '9'; j++ {
		n = n*10 + uint64(src[j]-'0')
	}
	if j == start {
		return t.fail(json.ErrSyntax, i)
	}
	if j-start > 18 || j < len(src) && (src[j] == '.' || src[j]|0x20 == 'e') {
		return t.otherNumber(i)
	}
	if start > i {
		t.dst = AppendInt(t.dst, -int64(n))
	} else {
		t.dst = AppendHead(t.dst, Uint, n)
	}
	return j
}

// otherNumber is number for all numbers except integers of up to 18 digits.
func (t *transcoder) otherNumber(i int) int {
	end := json.SkipScalar(t.src, i)
	v := json.Value(t.src[i:end])
	if n, ok := v.Int(); ok {
		t.dst = AppendInt(t.dst, n)
		return end
	}
	f, err := strconv.ParseFloat(unsafe.String(&v[0], len(v)), 64) // does not keep the string
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		if math.IsInf(f, 0) {
			return t.fail(ErrNumber, i)
		}
		return t.fail(json.ErrSyntax, i)
	}
	t.dst = AppendFloat(t.dst, f)
	return end
}

// enter opens a map or array and reserves a byte for its head, at the index that it returns.
func (t *transcoder) enter(i int) (head int, ok bool) {
	if t.depth++; t.depth > json.MaxDepth {
		t.fail(json.ErrDepth, i)
		return 0, false
	}
	head = len(t.dst)
	t.dst = append(t.dst, 0)
	return head, true
}

// leave closes a map or array of n entries and writes its head.
func (t *transcoder) leave(head int, m Major, n int) {
	t.depth--
	if t.dst[head] = byte(m) | byte(n); n >= 24 {
		t.dst[head] = byte(m)
		t.longs = append(t.longs, long{head, n})
	}
}

func (t *transcoder) array(i int) int {
	head, ok := t.enter(i)
	if !ok {
		return -1
	}
	n := 0
	i = json.SkipSpace(t.src, i+1)
	if i < len(t.src) && t.src[i] == ']' {
		t.leave(head, Array, n)
		return i + 1
	}
	for {
		if i = t.value(i); i < 0 {
			return i
		}
		n++
		i = json.SkipSpace(t.src, i)
		if i < len(t.src) && t.src[i] == ']' {
			t.leave(head, Array, n)
			return i + 1
		}
		if i >= len(t.src) || t.src[i] != ',' {
			return t.fail(json.ErrSyntax, i)
		}
		i = json.SkipSpace(t.src, i+1)
	}
}

func (t *transcoder) object(i int) int {
	head, ok := t.enter(i)
	if !ok {
		return -1
	}
	seen := seen{first: len(t.names)}
	i = json.SkipSpace(t.src, i+1)
	if i < len(t.src) && t.src[i] == '}' {
		t.leave(head, Map, 0)
		return i + 1
	}
	for {
		if i >= len(t.src) || t.src[i] != '"' {
			return t.fail(json.ErrSyntax, i)
		}
		start := len(t.dst)
		if i = t.string(i); i < 0 {
			return i
		}
		if !t.distinct(&seen, span{start, len(t.dst)}) {
			t.err = errDuplicate
			return -1
		}
		i = json.SkipSpace(t.src, i)
		if i >= len(t.src) || t.src[i] != ':' {
			return t.fail(json.ErrSyntax, i)
		}
		if i = t.value(json.SkipSpace(t.src, i+1)); i < 0 {
			return i
		}
		i = json.SkipSpace(t.src, i)
		if i < len(t.src) && t.src[i] == '}' {
			t.leave(head, Map, len(t.names)-seen.first)
			t.names = t.names[:seen.first]
			return i + 1
		}
		if i >= len(t.src) || t.src[i] != ',' {
			return t.fail(json.ErrSyntax, i)
		}
		i = json.SkipSpace(t.src, i+1)
	}
}

// openGaps makes room for the heads of more than one byte and writes them, the last one first.
func (t *transcoder) openGaps() {
	if len(t.longs) == 0 {
		return
	}
	slices.SortFunc(t.longs, func(a, b long) int { return a.at - b.at })
	grow := 0
	for _, l := range t.longs {
		grow += headSize(uint64(l.n)) - 1
	}
	end := len(t.dst)
	t.dst = append(t.dst, make([]byte, grow)...)
	for _, l := range slices.Backward(t.longs) {
		major := Major(t.dst[l.at])
		copy(t.dst[l.at+1+grow:], t.dst[l.at+1:end])
		end = l.at
		size := headSize(uint64(l.n))
		grow -= size - 1
		AppendHead(t.dst[:l.at+grow], major, uint64(l.n))
	}
}
