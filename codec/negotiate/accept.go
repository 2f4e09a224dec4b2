package negotiate

import (
	"strings"

	"github.com/munnerz/goautoneg"
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

// ListAccept returns the Accept header with which the apiserver gives the same list that [Format] without
// Strict promises: it replaces as=PartialObjectMetadata, which the apiserver refuses for lists
// (wire.md 1.4), by as=PartialObjectMetadataList.
func ListAccept(accept string) string {
	const one, list = "as=PartialObjectMetadata", "as=PartialObjectMetadataList"
	if !strings.Contains(accept, one) {
		return accept
	}
	clauses := strings.Split(accept, ",")
	for i, clause := range clauses {
		params := strings.Split(clause, ";")
		for j, param := range params {
			if strings.TrimSpace(param) == one {
				params[j] = list
			}
		}
		clauses[i] = strings.Join(params, ";")
	}
	return strings.Join(clauses, ",")
}
