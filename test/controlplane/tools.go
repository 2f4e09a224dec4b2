//go:build tools

package main

// Keeps what only bin/kubectl needs in go.mod when it is tidied.
import _ "k8s.io/kubernetes/cmd/kubectl"
