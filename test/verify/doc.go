// Package verify tests sluice verify --conformance: the apiserver and Sluice keep every law, and for each way in which
// a reverse proxy breaks the API, the row that names it fails, and no other.
package verify
