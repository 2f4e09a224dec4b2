package codec

import "strings"

// ListAccept returns the Accept header with which the apiserver gives a list to a client that sent accept: where that
// asks for PartialObjectMetadata, which the apiserver refuses (wire.md 1.4), it has to ask for the list of them.
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
