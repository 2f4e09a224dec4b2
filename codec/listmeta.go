package codec

import (
	"strconv"

	"sluice/codec/json"
)

// ListMeta is the metadata of a list.
type ListMeta struct {
	ResourceVersion string
	Continue        string // empty for the last page
	Remaining       *int64 // remainingItemCount; nil leaves it out (wire.md 4.5)
}

// appendJSON appends the metadata object. Typed lists have it in struct order with empty members left out; unstructured
// lists have sorted keys and print continue even when empty (wire.md 4.5).
func (m *ListMeta) appendJSON(dst []byte, style Style) []byte {
	open := len(dst)
	if style == Unstructured {
		dst = append(dst, `,"continue":`...)
		dst = json.AppendString(dst, m.Continue)
		dst = m.appendRemaining(dst)
		dst = append(dst, `,"resourceVersion":`...)
		dst = json.AppendString(dst, m.ResourceVersion)
		return closeObject(dst, open)
	}
	dst = appendMember(dst, "resourceVersion", m.ResourceVersion)
	dst = appendMember(dst, "continue", m.Continue)
	dst = m.appendRemaining(dst)
	return closeObject(dst, open)
}

func (m *ListMeta) appendRemaining(dst []byte) []byte {
	if m.Remaining == nil {
		return dst
	}
	dst = append(dst, `,"remainingItemCount":`...)
	return strconv.AppendInt(dst, *m.Remaining, 10)
}

// appendProto appends the ListMeta message: selfLink, resourceVersion, continue, remainingItemCount.
func (m *ListMeta) appendProto(dst []byte) []byte {
	dst = appendStringField(dst, 1, "")
	dst = appendStringField(dst, 2, m.ResourceVersion)
	dst = appendStringField(dst, 3, m.Continue)
	if m.Remaining != nil {
		dst = appendIntField(dst, 4, *m.Remaining)
	}
	return dst
}
