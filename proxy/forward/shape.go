package forward

import (
	"slices"
	"strings"

	"sluice/codec"
	"sluice/codec/json"
	"sluice/codec/table"
)

// render appends an object or list, given in valid JSON, in the format that
// the client wants.
func (w *wish) render(dst, src []byte, f codec.Format) ([]byte, error) {
	object := json.Value(src)
	kind, _ := object.Get("kind").Text()
	switch {
	case w.keeps(object, f):
		return codec.Transcode(dst, src, codec.JSON, f.Encoding, codec.Limits{})
	case strings.HasSuffix(kind, "List") && listed(object):
		return renderList(dst, object, kind, f)
	}
	writer, err := writerOf(object, kind, f)
	if err != nil {
		return dst, err
	}
	return writer.AppendObject(dst, src)
}

// keeps reports whether the object keeps its shape.
func (w *wish) keeps(object json.Value, f codec.Format) bool {
	kind, _ := object.Get("kind").Text()
	return f.Shape == codec.Object || kind == "Status" ||
		f.Shape == codec.Table && kind == "Table" || f.Encoding == codec.JSON && w.has(object)
}

// renderError appends an error, given in JSON.
func (w *wish) renderError(dst, src []byte, f codec.Format) ([]byte, error) {
	if f.Encoding == codec.JSON && f.Pretty {
		return json.AppendIndent(dst, src, 0), nil
	}
	return codec.Transcode(dst, src, codec.JSON, f.Encoding, codec.Limits{})
}

func listed(object json.Value) bool {
	items := object.Get("items").Kind()
	return items == json.Array || items == json.Null
}

// writerOf returns the Writer for objects like this one. Nobody but their
// server knows how their Tables should look, so these are the plain ones.
func writerOf(object json.Value, kind string, f codec.Format) (*codec.Writer, error) {
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

// renderList appends a list in another shape.
func renderList(dst []byte, list json.Value, listKind string, f codec.Format) ([]byte, error) {
	kind := strings.TrimSuffix(listKind, "List")
	w, err := writerOf(list, kind, f)
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
		if len(v.Get("kind")) == 0 { // items of typed lists do not say what they are
			if item, err = json.InsertTypeMeta(item[:0], v, apiVersion, kind); err != nil {
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

func listMeta(v json.Value) codec.ListMeta {
	m := codec.ListMeta{}
	m.ResourceVersion, _ = v.Get("resourceVersion").Text()
	m.Continue, _ = v.Get("continue").Text()
	if n, ok := v.Get("remainingItemCount").Int(); ok {
		m.Remaining = &n
	}
	return m
}
