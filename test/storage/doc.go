// Package storage writes objects of every built-in kind into etcd, past validation, and compares the
// responses of Sluice with the apiserver's.
//
// The objects are the examples of k8s.io/api, in which every field is set, random ones, and those of
// testdata/written, which show what cells of Tables can be. What the apiserver adds, drops or changes
// while it converts a stored object to its internal type and to the version of the request is visible
// here only: Sluice and a test that decodes the Protobuf of the apiserver see the result.
package storage
