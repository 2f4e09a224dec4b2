// Package yaml prints JSON in the YAML of the apiserver: by the same library, object by object.
//
// [AppendFromJSON] prints a document; [AppendItem] and [AppendMember] print a list piece by piece, with the same
// bytes. JSON that the apiserver fails to print as YAML is an error here too.
//
// The library takes a hundred times the memory of a text, and indents every line of a deep one. Therefore an object
// beyond [MaxObject], maxDepth or json.MaxIndented is refused.
package yaml
