package codec

import (
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"sluice/codec/json"
	"sluice/codec/proto"
)

// ListMeta is the metadata of a list.
type ListMeta struct {
	ResourceVersion string
	Continue        string // empty for the last page
	Remaining       *int64 // remainingItemCount; nil leaves it out (wire.md 4.5)
	// ShardSelector is shardInfo.selector; empty leaves shardInfo out. Only typed lists tell it, and neither Tables nor
	// metadata do, as at the apiserver (KEP-5866).
	ShardSelector string
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
	dst = m.appendShardInfo(dst)
	return closeObject(dst, open)
}

func (m *ListMeta) appendShardInfo(dst []byte) []byte {
	if m.ShardSelector == "" {
		return dst
	}
	dst = append(dst, `,"shardInfo":{"selector":`...)
	return append(json.AppendString(dst, m.ShardSelector), '}')
}

func (m *ListMeta) appendRemaining(dst []byte) []byte {
	if m.Remaining == nil {
		return dst
	}
	dst = append(dst, `,"remainingItemCount":`...)
	return strconv.AppendInt(dst, *m.Remaining, 10)
}

// appendProto appends the metadata as field num; all lists but one have it as field 1.
func (m *ListMeta) appendProto(dst []byte, num protowire.Number) []byte {
	base := len(dst)
	dst = proto.AppendListMeta(dst, m.ResourceVersion, m.Continue, m.Remaining, m.ShardSelector)
	if num != 1 {
		protowire.AppendTag(dst[:base], num, protowire.BytesType)
	}
	return dst
}
