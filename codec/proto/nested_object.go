package proto

import (
	"reflect"

	appsv1 "k8s.io/api/apps/v1"

	"sluice/codec/cbor"
)

// A structField identifies a field of a Go type.
type structField struct {
	owner reflect.Type
	name  string
}

// nestedObjects are the fields that hold whole objects whose kind and apiVersion the apiserver sets
// when it converts its internal type. Protobuf does not carry them, so they are printed from here.
// Source: Convert_apps_StatefulSetSpec_To_v1_StatefulSetSpec.
var nestedObjects = map[structField]kindKey{
	{reflect.TypeFor[appsv1.StatefulSetSpec](), "VolumeClaimTemplates"}: {"v1", "PersistentVolumeClaim"},
}

// compileObject returns a plan of t of its own, which prints kind and apiVersion before the fields.
func (c compiler) compileObject(t reflect.Type, k kindKey) (*plan, error) {
	p := &plan{typ: t, name: t.String()}
	var f planField
	for e, l := range typeMetaLiterals(k.apiVersion, k.kind) {
		f.out[e].absent = l
	}
	if err := p.addField(f, false); err != nil {
		return nil, err
	}
	return p, c.addFields(p)
}

// typeMetaLiterals returns kind and apiVersion in each notation.
func typeMetaLiterals(apiVersion, kind string) [2]literal {
	b := cbor.AppendString(nil, "kind")
	b = cbor.AppendString(b, kind)
	b = cbor.AppendString(b, "apiVersion")
	b = cbor.AppendString(b, apiVersion)
	js := `,"kind":"` + kind + `","apiVersion":"` + apiVersion + `"`
	return [2]literal{asJSON: {js, 2}, asCBOR: {string(b), 2}}
}
