package transcode

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/codec"
	"sluice/codec/json"
	"sluice/codec/table"
)

// appendObject appends an object or list, given in valid JSON, in the format. The error is
// codec.ErrUnsupported if the object has no such form.
func (t *target) appendObject(dst, src []byte, f codec.Format) ([]byte, error) {
	object := json.Value(src)
	kind, _ := object.Get("kind").Text()
	switch {
	case t.keepsShape(object, f):
		return codec.AppendFromJSON(dst, src, f.Encoding)
	case strings.HasSuffix(kind, "List") && hasItems(object):
		return appendList(dst, object, kind, f)
	}
	writer, err := writerFor(object, kind, f)
	if err != nil {
		return dst, err
	}
	return writer.AppendObject(dst, src)
}

func hasItems(object json.Value) bool {
	items := object.Get("items").Kind()
	return items == json.Array || items == json.Null
}

// writerFor returns the Writer for objects of this kind and API version.
func writerFor(object json.Value, kind string, f codec.Format) (*codec.Writer, error) {
	apiVersion, _ := object.Get("apiVersion").Text()
	group, version, ok := strings.Cut(apiVersion, "/")
	if !ok {
		group, version = "", apiVersion
	}
	return codec.NewWriter(&codec.Resource{
		Group: group, Version: version, Kind: kind, ListKind: kind + "List",
		Style: codec.Unstructured, Source: codec.JSON, Columns: table.Default(),
	}, f)
}

// appendList appends a list in another shape. The head follows from the items, so it is inserted
// before them.
func appendList(dst []byte, list json.Value, listKind string, f codec.Format) ([]byte, error) {
	kind := strings.TrimSuffix(listKind, "List")
	w, err := writerFor(list, kind, f)
	if err != nil {
		return dst, err
	}
	apiVersion, _ := list.Get("apiVersion").Text()
	var item []byte
	begin, n := len(dst), 0
	for _, v := range list.Get("items").Elements {
		if n > 0 {
			dst = append(dst, w.Separator()...)
		}
		if len(v.Get("kind")) == 0 { // items of typed lists have no kind and apiVersion
			if item, err = json.AppendWithTypeMeta(item[:0], v, apiVersion, kind); err != nil {
				return dst, err
			}
			v = item
		}
		if dst, err = w.AppendItem(dst, v); err != nil {
			return dst, err
		}
		n++
	}
	meta := listMeta(list.Get("metadata"))
	head := w.AppendListHead(nil, meta, n, len(dst)-begin)
	return w.AppendListTail(slices.Insert(dst, begin, head...), meta, n), nil
}

func listMeta(v json.Value) metav1.ListMeta {
	m := metav1.ListMeta{}
	m.ResourceVersion, _ = v.Get("resourceVersion").Text()
	m.Continue, _ = v.Get("continue").Text()
	if n, ok := v.Get("remainingItemCount").Int(); ok {
		m.RemainingItemCount = &n
	}
	return m
}
