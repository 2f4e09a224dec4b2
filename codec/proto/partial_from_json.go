package proto

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"sluice/codec/internal/scratch"
	"sluice/codec/json"
)

// AppendPartialObjectMetadataFromJSON appends the raw PartialObjectMetadata of an object in JSON: one field,
// its ObjectMeta. This is the only Protobuf of custom resources (wire.md 2). Errors are those of
// json.AppendPartialObjectMetadata, or say which time cannot be parsed; dst is then returned unchanged.
func AppendPartialObjectMetadataFromJSON(dst, obj []byte) ([]byte, error) {
	s := scratch.Get()
	defer s.Put()
	var err error
	// As the apiserver prints metadata, it has no nulls, no unknown members and none out of order.
	if s.B, err = json.AppendPartialObjectMetadata(s.B, obj, "meta.k8s.io/v1"); err != nil {
		return dst, err
	}
	return appendObjectMetaJSON(dst, objectMeta, json.Value(s.B).Get("metadata"))
}

// metadataJSON has the members of a metadata object, each nil if absent.
type metadataJSON struct {
	name, generateName, namespace, selfLink, uid, resourceVersion, generation json.Value
	created, deleted, grace, labels, annotations, owners, finalizers, managed json.Value
}

func readMetadataJSON(meta json.Value) (m metadataJSON) {
	for key, v := range meta.Members {
		if p := m.member(string(key)); p != nil {
			*p = v
		}
	}
	return m
}

func (m *metadataJSON) member(name string) *json.Value {
	switch name {
	case "name":
		return &m.name
	case "generateName":
		return &m.generateName
	case "namespace":
		return &m.namespace
	case "selfLink":
		return &m.selfLink
	case "uid":
		return &m.uid
	case "resourceVersion":
		return &m.resourceVersion
	case "generation":
		return &m.generation
	case "creationTimestamp":
		return &m.created
	case "deletionTimestamp":
		return &m.deleted
	case "deletionGracePeriodSeconds":
		return &m.grace
	case "labels":
		return &m.labels
	case "annotations":
		return &m.annotations
	case "ownerReferences":
		return &m.owners
	case "finalizers":
		return &m.finalizers
	case "managedFields":
		return &m.managed
	}
	return nil
}

// appendObjectMetaJSON appends an ObjectMeta as field num. Strings, generation and the creation time are
// written even when empty, other fields only if present.
func appendObjectMetaJSON(dst []byte, num protowire.Number, meta json.Value) ([]byte, error) {
	base, m := len(dst), readMetadataJSON(meta)
	dst = appendTextField(dst, 1, m.name)
	dst = appendTextField(dst, 2, m.generateName)
	dst = appendTextField(dst, 3, m.namespace)
	dst = appendTextField(dst, 4, m.selfLink)
	dst = appendTextField(dst, 5, m.uid)
	dst = appendTextField(dst, 6, m.resourceVersion)
	n, _ := m.generation.Int()
	dst = appendIntField(dst, 7, n)
	dst, err := appendTimeField(dst, 8, m.created)
	if err == nil && m.deleted != nil {
		dst, err = appendTimeField(dst, 9, m.deleted)
	}
	if n, ok := m.grace.Int(); ok {
		dst = appendIntField(dst, 10, n)
	}
	dst = appendMapField(dst, 11, m.labels)
	dst = appendMapField(dst, 12, m.annotations)
	for _, v := range m.owners.Elements {
		dst = appendOwner(dst, 13, v)
	}
	for _, v := range m.finalizers.Elements {
		dst = appendTextField(dst, 14, v)
	}
	for _, v := range m.managed.Elements {
		if err == nil {
			dst, err = appendManaged(dst, 17, v)
		}
	}
	if err != nil {
		return dst[:base], fmt.Errorf("metadata: %w", err)
	}
	return closeField(dst, num, base), nil
}

func appendOwner(dst []byte, num protowire.Number, owner json.Value) []byte {
	var kind, name, uid, apiVersion, controller, block json.Value
	for key, v := range owner.Members {
		switch string(key) {
		case "kind":
			kind = v
		case "name":
			name = v
		case "uid":
			uid = v
		case "apiVersion":
			apiVersion = v
		case "controller":
			controller = v
		case "blockOwnerDeletion":
			block = v
		}
	}
	base := len(dst)
	dst = appendTextField(dst, 1, kind)
	dst = appendTextField(dst, 3, name)
	dst = appendTextField(dst, 4, uid)
	dst = appendTextField(dst, 5, apiVersion)
	dst = appendBoolField(dst, 6, controller)
	dst = appendBoolField(dst, 7, block)
	return closeField(dst, num, base)
}

func appendManaged(dst []byte, num protowire.Number, entry json.Value) ([]byte, error) {
	var manager, operation, apiVersion, at, fieldsType, fields, subresource json.Value
	for key, v := range entry.Members {
		switch string(key) {
		case "manager":
			manager = v
		case "operation":
			operation = v
		case "apiVersion":
			apiVersion = v
		case "time":
			at = v
		case "fieldsType":
			fieldsType = v
		case "fieldsV1":
			fields = v
		case "subresource":
			subresource = v
		}
	}
	base := len(dst)
	dst = appendTextField(dst, 1, manager)
	dst = appendTextField(dst, 2, operation)
	dst = appendTextField(dst, 3, apiVersion)
	if at != nil {
		var err error
		if dst, err = appendTimeField(dst, 4, at); err != nil {
			return dst[:base], err
		}
	}
	dst = appendTextField(dst, 6, fieldsType)
	if fields != nil {
		raw := len(dst)
		dst = closeField(AppendBytesField(dst, 1, fields), 7, raw)
	}
	dst = appendTextField(dst, 8, subresource)
	return closeField(dst, num, base), nil
}

// closeField turns the bytes appended since base into the payload of field num.
func closeField(dst []byte, num protowire.Number, base int) []byte {
	size := len(dst) - base
	head := protowire.SizeTag(num) + protowire.SizeVarint(uint64(size))
	for range head {
		dst = append(dst, 0)
	}
	copy(dst[base+head:], dst[base:base+size])
	protowire.AppendVarint(protowire.AppendTag(dst[:base], num, protowire.BytesType), uint64(size))
	return dst
}

// appendTextField appends a string field, empty if v is absent.
func appendTextField(dst []byte, num protowire.Number, v json.Value) []byte {
	base := len(dst)
	dst, _ = v.AppendText(dst)
	return closeField(dst, num, base)
}

// appendBoolField appends a bool field unless v is absent.
func appendBoolField(dst []byte, num protowire.Number, v json.Value) []byte {
	b, ok := v.Bool()
	if !ok {
		return dst
	}
	return appendIntField(dst, num, int64(protowire.EncodeBool(b)))
}

// appendMapField appends the entries of a map in their order: the apiserver sorts them in both encodings.
func appendMapField(dst []byte, num protowire.Number, v json.Value) []byte {
	for key, value := range v.Members {
		base := len(dst)
		dst = AppendBytesField(dst, 1, key)
		dst = closeField(appendTextField(dst, 2, value), num, base)
	}
	return dst
}

// appendTimeField appends a Time as field num: seconds and nanoseconds, or an empty message for null.
func appendTimeField(dst []byte, num protowire.Number, v json.Value) ([]byte, error) {
	base := len(dst)
	if text, ok := v.Bytes(); ok {
		t, err := time.Parse(time.RFC3339, string(text))
		if err != nil {
			return dst, err
		}
		dst = appendIntField(dst, 1, t.Unix())
		dst = appendIntField(dst, 2, 0)
	}
	return closeField(dst, num, base), nil
}

// AppendBytesField appends bytes, text or a message as field num.
func AppendBytesField(dst []byte, num protowire.Number, b []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(dst, num, protowire.BytesType), b)
}

func appendIntField(dst []byte, num protowire.Number, n int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(dst, num, protowire.VarintType), uint64(n))
}
