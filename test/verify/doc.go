// Package verify tests sluice verify: Sluice serves what the apiserver has, and objects that a reverse proxy hides, invents
// or changes are named.
package verify
