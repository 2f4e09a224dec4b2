package framing

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// JSON is compact JSON. Single objects and lists end with a newline, and each event is a line.
type JSON struct{ List List }

func (j *JSON) AppendObject(dst, src []byte, e ObjectEncoder) ([]byte, error) {
	dst, err := e.AppendObject(dst, src, true)
	return append(dst, '\n'), err
}

func (j *JSON) AppendItem(dst, src []byte, e ObjectEncoder) ([]byte, error) {
	return e.AppendItem(dst, src)
}

func (j *JSON) Separator() string { return "," }

func (j *JSON) AppendListHead(dst []byte, meta *metav1.ListMeta, n, _ int) []byte {
	return j.List.appendJSONHead(dst, meta, n)
}

func (j *JSON) AppendListTail(dst []byte, meta *metav1.ListMeta, n int) []byte {
	return append(j.List.appendJSONTail(dst, meta, n), '\n')
}

func (j *JSON) AppendEvent(dst []byte, typ string, src []byte, e ObjectEncoder, first bool) ([]byte, error) {
	dst, err := e.AppendObject(appendEventHead(dst, typ), src, first)
	return append(dst, "}\n"...), err
}

func (j *JSON) AppendErrorEvent(dst []byte, s *metav1.Status) []byte {
	dst = append(appendEventHead(dst, string(watch.Error)), statusJSON(s)...)
	return append(dst, "}\n"...)
}

func appendEventHead(dst []byte, typ string) []byte {
	dst = append(dst, `{"type":"`...)
	dst = append(dst, typ...)
	return append(dst, `","object":`...)
}

func statusJSON(s *metav1.Status) []byte {
	b, _ := json.Marshal(s) // strings and numbers cannot fail
	return b
}
