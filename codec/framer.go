package codec

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice/codec/framing"
)

// framer puts the framing of one encoding around objects; package framing has the implementations.
type framer interface {
	AppendObject(dst, src []byte, e objectEncoder) ([]byte, error)
	AppendItem(dst, src []byte, e objectEncoder) ([]byte, error)
	Separator() string
	AppendListHead(dst []byte, meta *metav1.ListMeta, n, size int) []byte
	AppendListTail(dst []byte, meta *metav1.ListMeta, n int) []byte
	AppendEvent(dst []byte, typ string, src []byte, e objectEncoder, first bool) ([]byte, error)
	AppendErrorEvent(dst []byte, s *metav1.Status) []byte
}

func newFramer(r *Resource, f Format) (framer, error) {
	list := listEnvelope(r, f)
	switch {
	case f.Encoding == Protobuf && f.Shape == Metadata:
		return &framing.Protobuf{
			List: list, APIVersion: f.MetaVersion.String(), Kind: "PartialObjectMetadata",
			ItemsFirst: f.MetaVersion == MetaV1beta1,
		}, nil
	case f.Encoding == Protobuf:
		return &framing.Protobuf{List: list, APIVersion: r.APIVersion(), Kind: r.Kind}, nil
	case f.Encoding == CBOR:
		return &framing.CBOR{List: list}, nil
	case f.Encoding == YAML:
		return framing.NewYAML(list)
	case f.Pretty:
		return &framing.PrettyJSON{JSON: framing.JSON{List: list}}, nil
	}
	return &framing.JSON{List: list}, nil
}

func listEnvelope(r *Resource, f Format) framing.List {
	switch f.Shape {
	case Table:
		return framing.List{
			APIVersion: f.MetaVersion.String(), Kind: "Table", ColumnDefinitions: r.Columns.AppendDefinitions(nil),
			NullWhenEmpty: r.Columns.NullWhenEmpty(),
		}
	case Metadata:
		return framing.List{
			APIVersion: f.MetaVersion.String(), Kind: "PartialObjectMetadataList", NullWhenEmpty: true,
		}
	}
	return framing.List{APIVersion: r.APIVersion(), Kind: r.ListKind, Unstructured: r.Style == Unstructured}
}
