package plan

import (
	"strings"

	"k8s.io/apiserver/pkg/storage"

	"sluice/cache/tree"
	"sluice/proxy/serve/outcome"
)

// A continue token names its first key relative to the prefix of its list, as those of the apiserver
// do, so that a list that began at one server can go on at the other (wire.md 5).

// parseContinue returns the version that a continue token names and the first key of its page. It
// returns UnservedOptions for tokens that the apiserver refuses or does not read at their version.
func parseContinue(token, namespace string) (version uint64, start tree.Key, err error) {
	prefix := ""
	if namespace != "" {
		prefix = namespace + "/"
	}
	key, rv, err := storage.DecodeContinue(token, prefix)
	if err != nil || rv <= 0 {
		return 0, "", outcome.UnservedOptions
	}
	return uint64(rv), tree.Key(key), nil
}

// ContinueToken returns the token of the page that follows the key last. Up to Kubernetes 1.37 the key in it begins with a
// slash; each release reads both forms.
func (p *Plan) ContinueToken(version uint64, last tree.Key) (string, error) {
	prefix := "/"
	if p.Read.Namespace != "" {
		prefix += p.Read.Namespace + "/"
	}
	if p.Resource.Minor < 38 {
		prefix = strings.TrimSuffix(prefix, "/")
	}
	const root = "/registry" // any: the token does not contain it
	return storage.EncodeContinue(root+"/"+string(last)+"\x00", root+prefix, int64(version))
}
