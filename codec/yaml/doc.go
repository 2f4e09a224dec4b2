// Package yaml prints JSON in the YAML of the apiserver.
//
// The apiserver (v0.37) makes YAML from JSON with sigs.k8s.io/yaml, which parses the JSON with
// go.yaml.in/yaml/v2, a port of libyaml, and prints the result. [AppendFromJSON] prints the same
// bytes from an index of the JSON. Its rules: two spaces per level, lists not indented under their
// key, names in natural order; strings plain where possible, in single quotes where only
// punctuation forbids that, as a literal block if they have several lines, in double quotes
// otherwise. [AppendItem] and [AppendMember] print a list piece by piece.
//
// Nothing of this calls the library because of its cost: for a pod of 8 KB it takes 20 to 40 times as
// long and some thousand allocations, and each call for a text alone costs more the deeper the text is.
// The style of common texts is certain at a glance (style.go). For others, such as those that are folded
// or need escapes, the rules of the library are followed in full (rare.go). Only strings in which a
// U+0085 is not escaped are read by its parser, and few of them: they count against the limit of the
// output's length.
//
// Invariants:
//
//   - For JSON that the apiserver can print as YAML, the output must equal its output in every byte.
//     For other JSON (see AppendFromJSON) the output must equal that of yaml/v2 for the same value.
//   - Time and memory must be linear in the lengths of input and output.
package yaml
