//go:build tools

package main

// Keeps the dependencies of bin/kubectl in go.mod.
import _ "k8s.io/kubernetes/cmd/kubectl"
