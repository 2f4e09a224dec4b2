package serve

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"path"
	"strings"

	"sluice/cache"
)

// page is where a list goes on: what its continue token tells.
type page struct {
	version uint64
	start   cache.Key
}

// token is the form of a continue token: base64url without padding of its JSON,
// the apiserver's own, so that a list begun at one server goes on at another
// (wire.md 5).
type token struct {
	Version string `json:"v"`
	RV      int64  `json:"rv"`
	Start   string `json:"start"` // relative to the list's namespace
}

const tokenVersion = "meta.k8s.io/v1"

var errToken = errors.New("irregular continue token")

// parsePage reads a token. It refuses all that is out of the ordinary, of which
// the apiserver makes errors or reads of the most recent state.
func parsePage(text, namespace string) (*page, error) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil, errToken
	}
	var t token
	if err := json.Unmarshal(raw, &t); err != nil || t.Version != tokenVersion || t.RV <= 0 || t.Start == "" {
		return nil, errToken
	}
	start := strings.TrimPrefix(t.Start, "/")
	if path.Clean("/"+start) != "/"+start {
		return nil, errToken
	}
	if namespace != "" {
		start = namespace + "/" + start
	}
	return &page{version: uint64(t.RV), start: cache.Key(start)}, nil
}

// next returns the token of the page behind the object with key last.
func next(version uint64, last cache.Key, namespace string) string {
	start := string(last)
	if namespace != "" {
		start = strings.TrimPrefix(start, namespace+"/")
	}
	raw, err := json.Marshal(token{tokenVersion, int64(version), "/" + start + "\x00"})
	if err != nil {
		panic(err) // a struct of strings and a number
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}
