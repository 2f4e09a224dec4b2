package codec

import "strings"

// internalPackages are the Go packages of groups whose name does not tell them.
var internalPackages = map[string]string{
	"":                          "core",
	"events.k8s.io":             "core",
	"internal.apiserver.k8s.io": "apiserverinternal",
}

// goType returns the Go type of the apiserver's internal object or list, such as "*core.ConfigMapList": two of its
// refusals print it (wire.md 1.4).
func goType(t Target) string {
	kind := t.Kind
	if t.Verb == List {
		kind += "List"
	}
	if t.Style == Unstructured {
		return "*unstructured.Unstructured" + strings.TrimPrefix(kind, t.Kind)
	}
	pkg, ok := internalPackages[t.Group]
	if !ok {
		pkg, _, _ = strings.Cut(t.Group, ".")
	}
	return "*" + pkg + "." + kind
}
