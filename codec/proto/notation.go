package proto

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strconv"

	"sluice/codec/cbor"
	"sluice/codec/json"
)

// A notation is the output of a transcoder: JSON or CBOR. The walk over an object is the same for both.
// In JSON each member and element has a comma in front, of which the first is replaced by the
// bracket. In CBOR the head has the number of entries.
type notation uint8

const (
	asJSON notation = iota
	asCBOR
)

// maxTiny is the largest argument that fits into the first byte of a CBOR item.
const maxTiny = 23

// openObject begins an object whose number of members is not known yet, to be ended with closeObject. In
// CBOR it leaves a byte free for the head.
func (to notation) openObject(dst []byte) []byte {
	if to == asCBOR {
		return append(dst, 0)
	}
	return dst
}

// closeObject ends an object of n members, which are everything after start. In CBOR more than 23 members are moved.
func (to notation) closeObject(dst []byte, start, n int) []byte {
	if to == asJSON {
		return json.Enclose(dst, start, '{', '}')
	}
	return setHead(dst, start, cbor.Map, n)
}

// setHead replaces the byte at start, which was left free, by the head of a CBOR item, whose content is
// everything after it.
func setHead(dst []byte, start int, m cbor.Major, n int) []byte {
	if n <= maxTiny {
		dst[start] = byte(m) | byte(n)
		return dst
	}
	var head [9]byte
	return slices.Replace(dst, start, start+1, cbor.AppendHead(head[:0], m, uint64(n))...)
}

// openList begins an array of n elements, to be ended with closeList.
func (to notation) openList(dst []byte, n int) []byte {
	if to == asCBOR {
		return cbor.AppendHead(dst, cbor.Array, uint64(n))
	}
	return dst
}

// closeList ends an array, whose content is everything after start.
func (to notation) closeList(dst []byte, start int) []byte {
	if to == asCBOR {
		return dst
	}
	return json.Enclose(dst, start, '[', ']')
}

// appendComma appends the separator before an element.
func (to notation) appendComma(dst []byte) []byte {
	if to == asJSON {
		return append(dst, ',')
	}
	return dst
}

// appendKey appends the name of a member of a map.
func (to notation) appendKey(dst, key []byte) []byte {
	if to == asJSON {
		return append(json.AppendString(append(dst, ','), key), ':')
	}
	return cbor.AppendString(dst, key)
}

func (to notation) appendString(dst, s []byte) []byte {
	if to == asJSON {
		return json.AppendString(dst, s)
	}
	return cbor.AppendString(dst, s)
}

// closeText ends a text that needs no escapes, which follows a quotation mark at start.
func (to notation) closeText(dst []byte, start int) []byte {
	if to == asJSON {
		return append(dst, '"')
	}
	return setHead(dst, start, cbor.Bytes, len(dst)-start-1)
}

// appendBytes appends bytes, in JSON as base64.
func (to notation) appendBytes(dst, b []byte) []byte {
	if to == asCBOR {
		return cbor.AppendBase64(dst, b)
	}
	return append(base64.StdEncoding.AppendEncode(append(dst, '"'), b), '"')
}

func (to notation) appendNull(dst []byte) []byte {
	if to == asJSON {
		return append(dst, "null"...)
	}
	return append(dst, cbor.Null)
}

func (to notation) appendBool(dst []byte, v bool) []byte {
	if to == asJSON {
		return strconv.AppendBool(dst, v)
	}
	return cbor.AppendBool(dst, v)
}

func (to notation) appendInt(dst []byte, v int64) []byte {
	if to == asJSON {
		return strconv.AppendInt(dst, v, 10)
	}
	return cbor.AppendInt(dst, v)
}

func (to notation) appendFloat(dst []byte, v float64) []byte {
	if to == asJSON {
		return json.AppendFloat(dst, v)
	}
	return cbor.AppendFloat(dst, v)
}

// appendEmbedded appends the JSON in a RawExtension, FieldsV1 or JSONSchemaProps JSON.
func (to notation) appendEmbedded(dst, js []byte) ([]byte, error) {
	if to == asJSON {
		return compact(dst, js)
	}
	if json.IsObjects(js) {
		if out, end := appendObjects(dst, js, 0); end > 0 {
			return out, nil
		}
	}
	return cbor.AppendFromJSON(dst, js)
}

// appendObjects appends the object at js[i], which json.IsObjects has accepted, as CBOR, and returns the
// index after it, or -1 if its names do not ascend, so that some may be duplicates. Managed fields are
// half of the metadata of many objects, and by way of Go values they would take as long as all the rest of
// a pod.
func appendObjects(dst, js []byte, i int) ([]byte, int) {
	start, n := len(dst), 0
	dst = append(dst, 0)
	var last []byte
	for i++; js[i] != '}'; n++ {
		if js[i] == ',' {
			i++
		}
		end, _ := json.SkipString(js, i)
		name := json.Value(js[i:end])
		if n > 0 && bytes.Compare(last, name) >= 0 {
			return dst, -1
		}
		last = name
		text := len(dst)
		dst, _ = name.AppendText(append(dst, 0))
		dst = setHead(dst, text, cbor.Bytes, len(dst)-text-1)
		if dst, i = appendObjects(dst, js, end+1); i < 0 {
			return dst, -1
		}
	}
	return setHead(dst, start, cbor.Map, n), i + 1
}
