package codec

// cborLayout is CBOR: every whole item begins with the self-described tag, also the object inside an event (wire.md 3).
type cborLayout struct {
	body body
	list collection
}

// cborTag is the self-described tag, 55799.
const cborTag = "\xd9\xd9\xf7"

// CBOR's major types, as the upper three bits of an item's first byte.
const (
	cborUint  = 0 << 5
	cborNint  = 1 << 5
	cborBytes = 2 << 5
	cborArray = 4 << 5
	cborMap   = 5 << 5
	cborNull  = 0xf6
)

func newCBORLayout(b body, r *Resource, f Format) *cborLayout {
	return &cborLayout{body: b, list: newCollection(r, f)}
}

func (l *cborLayout) appendObject(dst, src []byte) ([]byte, error) {
	return l.tagged(dst, src, l.body, true)
}

func (l *cborLayout) tagged(dst, src []byte, b body, first bool) ([]byte, error) {
	base := len(dst)
	dst, err := b.object(append(dst, cborTag...), src, first)
	if err != nil {
		return dst[:base], err
	}
	return dst, nil
}

func (l *cborLayout) appendItem(dst, src []byte) ([]byte, error) { return l.body.item(dst, src) }
func (l *cborLayout) separator() string                          { return "" }

// appendHead appends the whole list but its items, which are last: lengths are definite, so there is nothing to close.
func (l *cborLayout) appendHead(dst []byte, meta *ListMeta, n, _ int) []byte {
	dst = append(dst, cborTag...)
	dst = appendCBORHead(dst, cborMap, 4)
	dst = appendCBORText(appendCBORText(dst, "kind"), l.list.kind)
	dst = appendCBORText(appendCBORText(dst, "apiVersion"), l.list.apiVersion)
	dst = meta.appendCBOR(appendCBORText(dst, "metadata"), l.list.style)
	dst = appendCBORText(dst, "items")
	if n == 0 && l.list.nullWhenEmpty {
		return append(dst, cborNull)
	}
	return appendCBORHead(dst, cborArray, uint64(n))
}

func (l *cborLayout) appendTail(dst []byte, _ *ListMeta, _ int) []byte { return dst }

func (l *cborLayout) appendEvent(dst []byte, typ string, src []byte, b body, first bool) ([]byte, error) {
	base := len(dst)
	dst, err := l.tagged(appendCBOREvent(dst, typ), src, b, first)
	if err != nil {
		return dst[:base], err
	}
	return dst, nil
}

func (l *cborLayout) appendStatus(dst []byte, s *Status) []byte {
	return s.appendObject(appendCBOREvent(dst, eventError), CBOR)
}

// appendCBOREvent appends an event up to its object.
func appendCBOREvent(dst []byte, typ string) []byte {
	dst = append(dst, cborTag...)
	dst = appendCBORHead(dst, cborMap, 2)
	dst = appendCBORText(appendCBORText(dst, "type"), typ)
	return appendCBORText(dst, "object")
}

// appendCBOR appends the metadata of a list; unstructured lists have continue even when it is empty.
func (m *ListMeta) appendCBOR(dst []byte, style Style) []byte {
	withVersion := style == Unstructured || m.ResourceVersion != ""
	withContinue := style == Unstructured || m.Continue != ""
	dst = appendCBORHead(dst, cborMap, count(withVersion, withContinue, m.Remaining != nil))
	if withVersion {
		dst = appendCBORText(appendCBORText(dst, "resourceVersion"), m.ResourceVersion)
	}
	if withContinue {
		dst = appendCBORText(appendCBORText(dst, "continue"), m.Continue)
	}
	if m.Remaining != nil {
		dst = appendCBORInt(appendCBORText(dst, "remainingItemCount"), *m.Remaining)
	}
	return dst
}

func count(bs ...bool) (n uint64) {
	for _, b := range bs {
		if b {
			n++
		}
	}
	return n
}

// appendCBORText appends text as the apiserver does: as a byte string.
func appendCBORText(dst []byte, s string) []byte {
	return append(appendCBORHead(dst, cborBytes, uint64(len(s))), s...)
}

func appendCBORInt(dst []byte, n int64) []byte {
	if n < 0 {
		return appendCBORHead(dst, cborNint, uint64(-1-n))
	}
	return appendCBORHead(dst, cborUint, uint64(n))
}
