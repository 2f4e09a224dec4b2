package proto

import (
	"reflect"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
)

// setNestedTypeMeta sets the kind and apiVersion that the apiserver's conversion sets in an object
// from etcd.
func setNestedTypeMeta(obj message) {
	var sets []appsv1.StatefulSet
	switch o := obj.(type) {
	case *appsv1.StatefulSet:
		sets = []appsv1.StatefulSet{*o} // shares the templates
	case *appsv1.StatefulSetList:
		sets = o.Items
	}
	for _, s := range sets {
		for i := range s.Spec.VolumeClaimTemplates {
			claim := &s.Spec.VolumeClaimTemplates[i]
			claim.APIVersion, claim.Kind = "v1", "PersistentVolumeClaim"
		}
	}
}

// Every field that holds whole objects must be looked at: the apiserver's conversion may set their
// kind and apiVersion.
func TestNestedObjectsAreKnown(t *testing.T) {
	for apiVersion, kind := range kinds {
		mustLookup(t, apiVersion, kind)
	}
	var got []string
	for typ, p := range compiled.compiler {
		for i := range typ.NumField() {
			sf := typ.Field(i)
			elem := sf.Type
			for elem.Kind() == reflect.Slice || elem.Kind() == reflect.Pointer || elem.Kind() == reflect.Map {
				elem = elem.Elem()
			}
			if elem.Kind() != reflect.Struct || sf.Name == "Items" {
				continue
			}
			if f, ok := elem.FieldByName("TypeMeta"); ok && f.Type == typeMetaType {
				got = append(got, p.name+"."+sf.Name)
			}
		}
	}
	slices.Sort(got)
	want := []string{
		// Not in objects that are stored.
		"v1.APIGroupList.Groups", "v1.ConversionResponse.Result", "v1.Eviction.DeleteOptions",
		// In nestedObjects.
		"v1.StatefulSetSpec.VolumeClaimTemplates",
		"v1beta1.ConversionResponse.Result", "v1beta1.Eviction.DeleteOptions",
		// No apiserver serves these versions any more.
		"v1beta1.StatefulSetSpec.VolumeClaimTemplates", "v1beta2.StatefulSetSpec.VolumeClaimTemplates",
	}
	if !slices.Equal(got, want) {
		t.Errorf("fields with whole objects: %q, want %q", got, want)
	}
}
