package codec

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// jsonLayout is compact JSON: objects and lists end with a newline, and each event is a line.
type jsonLayout struct {
	body body
	list collection
}

func (l *jsonLayout) appendObject(dst, src []byte) ([]byte, error) {
	dst, err := l.body.object(dst, src, true)
	if err != nil {
		return dst, err
	}
	return append(dst, '\n'), nil
}

func (l *jsonLayout) appendItem(dst, src []byte) ([]byte, error) { return l.body.item(dst, src) }
func (l *jsonLayout) separator() string                          { return "," }

func (l *jsonLayout) appendHead(dst []byte, meta *metav1.ListMeta, n, _ int) []byte {
	return l.list.appendJSONHead(dst, meta, n)
}

func (l *jsonLayout) appendTail(dst []byte, meta *metav1.ListMeta, n int) []byte {
	return append(l.list.appendJSONTail(dst, meta, n), '\n')
}

func (l *jsonLayout) appendEvent(dst []byte, typ string, src []byte, b body, first bool) ([]byte, error) {
	base := len(dst)
	dst, err := b.object(appendEventStart(dst, typ), src, first)
	if err != nil {
		return dst[:base], err
	}
	return append(dst, "}\n"...), nil
}

func (l *jsonLayout) appendStatus(dst []byte, s *metav1.Status) []byte {
	return append(append(appendEventStart(dst, EventError), statusJSON(s)...), "}\n"...)
}

func appendEventStart(dst []byte, typ string) []byte {
	dst = append(dst, `{"type":"`...)
	dst = append(dst, typ...)
	return append(dst, `","object":`...)
}

// prettyLayout is indented JSON, which ends without a newline and is never used for watches.
type prettyLayout struct{ jsonLayout }

// prettyDepth is the level at which the items of a list stand.
const prettyDepth = 2

func (l *prettyLayout) appendObject(dst, src []byte) ([]byte, error) {
	s := getScratch()
	defer s.put()
	var err error
	if s.b, err = l.body.object(s.b[:0], src, true); err != nil {
		return dst, err
	}
	return appendIndented(dst, s.b, 0), nil
}

func (l *prettyLayout) appendItem(dst, src []byte) ([]byte, error) {
	s := getScratch()
	defer s.put()
	var err error
	if s.b, err = l.body.item(s.b[:0], src); err != nil {
		return dst, err
	}
	return appendIndented(dst, s.b, prettyDepth), nil
}

func (l *prettyLayout) separator() string { return ",\n" + indentStep + indentStep }

func (l *prettyLayout) appendHead(dst []byte, meta *metav1.ListMeta, n, _ int) []byte {
	return appendIndented(dst, l.list.appendJSONHead(nil, meta, n), 0)
}

func (l *prettyLayout) appendTail(dst []byte, meta *metav1.ListMeta, n int) []byte {
	return appendIndented(dst, l.list.appendJSONTail(nil, meta, n), min(n, 1)+1)
}
