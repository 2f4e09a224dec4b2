// Package clients puts real clients before Sluice, unchanged - client-go's typed,
// dynamic and metadata clients and informers, controller-runtime's cache,
// kubectl, curl, the JavaScript client, slow and broken ones - with a real
// apiserver behind it, and holds what they get and end up with against the
// apiserver's own answers and state.
//
// curl, node and npm are looked for: their tests are skipped where they are not
// installed.
package clients
