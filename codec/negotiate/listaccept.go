package negotiate

import "strings"

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
