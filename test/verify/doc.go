// Package verify tests sluice verify. With --conformance the apiserver and Sluice keep every law, and for each way in which
// a reverse proxy breaks the API, the row that names it fails, and no other. Without it Sluice serves what the apiserver has,
// and what a reverse proxy hides, invents or changes is named.
package verify
