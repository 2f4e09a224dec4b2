// Package yaml prints JSON as the apiserver prints YAML, and reads YAML
// request bodies as the apiserver reads them.
//
// The apiserver (v0.36) makes YAML of JSON by sigs.k8s.io/yaml, which is
// go.yaml.in/yaml/v2, a port of libyaml: the JSON is parsed as YAML and the
// result is printed. [AppendFromJSON] prints the same bytes without the
// detour, in one walk over an index of the JSON's values. Its rules: two
// spaces a level, lists not indented under their key, names in natural order,
// lines of any length, strings plain where they may be, in single quotes
// where only punctuation forbids it, as a literal block where they have
// several lines, in double quotes else.
//
// Lists are printed item by item: [AppendItem] prints one element, and
// [AppendMember] the members around them.
//
// Bodies are parsed by the apiserver's own parser, with limits it lacks on
// what aliases may grow to.
//
// Invariants:
//
//   - The output for JSON that the apiserver can print is its output to the
//     byte. JSON on which its detour fails (see AppendFromJSON) is printed
//     as its emitter would print the value.
//   - Work and memory are linear in input and output.
package yaml
