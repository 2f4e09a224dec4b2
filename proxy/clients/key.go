package clients

import (
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"strings"
)

// Key names a row.
type Key struct {
	User  string // empty for callers that are not authenticated
	Agent string // program and version; the network of callers that are not authenticated

	Group, Version, Resource string // empty for paths that are no resource
	Namespace                string // AllNamespaces, ByNode, or a name; empty without a resource
}

// Namespaces that are not one.
const (
	AllNamespaces = "*"
	ByNode        = "(by node)" // selected by the field spec.nodeName
)

// Longer texts are cut, which bounds the memory of a row.
const (
	longestUser = 128
	longestName = 64
)

// bounded returns the key with short texts.
func (k Key) bounded() Key {
	k.User = cut(k.User, longestUser)
	for _, s := range []*string{&k.Agent, &k.Group, &k.Version, &k.Resource, &k.Namespace} {
		*s = cut(*s, longestName)
	}
	return k
}

// cut returns a valid text of at most so many bytes. One that is cut ends with a hash: texts with the same beginning stay apart.
func cut(s string, most int) string {
	if len(s) <= most {
		return strings.ToValidUTF8(s, "?")
	}
	sum := sha256.Sum256([]byte(s))
	end := "…" + hex.EncodeToString(sum[:6])
	return strings.ToValidUTF8(s[:most-len(end)], "?") + end
}

// cloned returns the key with texts of its own: others keep a whole request in memory.
func (k Key) cloned() Key {
	for _, s := range []*string{&k.User, &k.Agent, &k.Group, &k.Version, &k.Resource, &k.Namespace} {
		*s = strings.Clone(*s)
	}
	return k
}

// NoResource stands for the name of a resource that there is not.
const NoResource = "(no resource)"

// resource returns the name of the resource, such as deployments.v1.apps.
func (k Key) resource() string {
	if k.Resource == "" {
		return NoResource
	}
	return strings.TrimSuffix(k.Resource+"."+k.Version+"."+k.Group, ".")
}

// Agent returns the name of the program in a User-Agent header: the text before the first space, with a version of at most two
// numbers. kubelet/v1.37.2 (linux/amd64) kubernetes/0123abc is kubelet/v1.37.
func Agent(header string) string {
	first, _, _ := strings.Cut(header, " ")
	name, version, ok := strings.Cut(first, "/")
	if !ok {
		return cut(first, longestName)
	}
	end, dots := 0, 0
	for ; end < len(version); end++ {
		c := version[end]
		if c == '.' {
			dots++
		}
		if dots == 2 || c != '.' && (c < '0' || c > '9') && !(end == 0 && c == 'v') {
			break
		}
	}
	return cut(first[:len(name)+1+end], longestName)
}

// Network returns the network of an address, host:port, that is one caller if nobody is authenticated: /24 or /64.
func Network(remote string) string {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return "(unknown)"
	}
	ip, bits := at.Addr().Unmap().WithZone(""), 64
	if ip.Is4() {
		bits = 24
	}
	p, _ := ip.Prefix(bits) // both are valid
	return p.String()
}
