package discovery

import (
	utilversion "k8s.io/apimachinery/pkg/util/version"

	"sluice/codec"
	"sluice/codec/json"
)

// A growth is a field that a kind prints even if it is empty, from a release on.
type growth struct {
	field string
	since *utilversion.Version
}

// grown are the kinds of which a supported release lacks such a field. The schema, which has it, would print it
// in objects of that release.
var grown = map[string]growth{
	"storage.k8s.io/v1 CSINode": {"status", utilversion.MustParseGeneric("1.37")},
}

// outgrown reports whether the schema of a kind prints a field that the apiserver does not print: judged by
// the first object or, if there is none, by the release.
func (out *Description) outgrown(list json.Value) bool {
	r := &out.Resource
	g, ok := grown[r.APIVersion()+" "+r.Kind]
	if !ok || r.Style != codec.Typed {
		return false
	}
	for _, first := range list.Get("items").Elements {
		return first.Get(g.field) == nil
	}
	return out.release.program == nil || out.release.program.LessThan(g.since)
}
