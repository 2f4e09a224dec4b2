package negotiate

import (
	"strings"

	"github.com/munnerz/goautoneg"

	"sluice/codec/projection"
)

// maxAccept bounds the Accept headers that are parsed, in bytes: the library takes 0.3 s for a megabyte,
// and some requests are negotiated for callers that are not authenticated.
const maxAccept = 8 << 10

// clauses splits and sorts an Accept header with the library that the apiserver uses. Its comparison is
// not a strict weak order, so no other algorithm gives the same result (wire.md 1.2). A header above
// maxAccept has no clauses, as one that accepts nothing.
func clauses(accept string) []goautoneg.Accept {
	if len(accept) > maxAccept {
		return nil
	}
	return goautoneg.ParseAccept(accept)
}

// UpstreamAccept returns the Accept header with which a request passes that [Format] without Strict would answer. The
// parameters keep, quiet and drop are removed, except drop=metadata.managedFields: the apiserver may refuse them, and
// without them it answers with whole objects. In a list as=PartialObjectMetadata, which the apiserver refuses
// (wire.md 1.4), becomes as=PartialObjectMetadataList.
func UpstreamAccept(accept string, v Verb) string {
	const one, list = "as=PartialObjectMetadata", "as=PartialObjectMetadataList"
	if !strings.Contains(accept, "=") {
		return accept
	}
	clauses := strings.Split(accept, ",")
	for i, clause := range clauses {
		var params []string
		for param := range strings.SplitSeq(clause, ";") {
			name, value, _ := strings.Cut(param, "=")
			name, value = strings.TrimSpace(name), strings.TrimSpace(value)
			switch bare := name + "=" + value; {
			case name == "keep", name == "quiet", name == "drop" && bare != string(projection.WithoutManagedFields):
			case bare == one && v == List:
				params = append(params, list)
			default:
				params = append(params, param)
			}
		}
		clauses[i] = strings.Join(params, ";")
	}
	return strings.Join(clauses, ",")
}
