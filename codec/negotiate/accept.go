package negotiate

import "github.com/munnerz/goautoneg"

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
