// Package yaml prints JSON in the YAML of the apiserver, and reads YAML request bodies in its way.
//
// The apiserver (v0.37) makes YAML from JSON with sigs.k8s.io/yaml, which parses the JSON with
// go.yaml.in/yaml/v2, a port of libyaml, and prints the result. [AppendFromJSON] prints the same
// bytes from an index of the JSON. Its rules: two spaces per level, lists not indented under their
// key, names in natural order; strings plain where possible, in single quotes where only
// punctuation forbids that, as a literal block if they have several lines, in double quotes
// otherwise. [AppendItem] and [AppendMember] print a list piece by piece.
//
// The emitter is written here because of the cost of the library. Printing a list of 10,000 pods of
// 7.6 KB item by item takes 0.5 to 0.7 s and 19 to 42 allocations here, and 13 to 27 s, 9.7 GB and
// 57 million allocations with sigs.k8s.io/yaml.JSONToYAML. Decoding with sigs.k8s.io/json and
// printing with yaml/v2, without the detour, takes 7.5 to 10 s, 7.5 GB and 30 million allocations
// (4 runs each).
//
// [AppendJSON] parses bodies with yaml/v2. It prints the JSON itself because
// sigs.k8s.io/yaml.YAMLToJSON does not bound its output: aliases can repeat one string of a body of
// 1 MiB 900 times.
//
// Invariants:
//
//   - For JSON that the apiserver can print as YAML, the output must equal its output in every byte.
//     For other JSON (see AppendFromJSON) the output must equal that of yaml/v2 for the same value.
//   - Time and memory must be linear in the lengths of input and output.
package yaml
