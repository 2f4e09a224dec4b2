// Package peers runs programs of others against a real apiserver, directly and through Sluice, and compares what they
// show. Each folder pins the version of one of them, and builds it unchanged, or a program of a few lines that starts its
// packages. make test-clients runs them and prints the table of docs/clients.md; without the variable PEERS they are skipped.
package peers
