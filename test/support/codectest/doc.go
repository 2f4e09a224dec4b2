// Package codectest holds requests to a real kube-apiserver and its responses, for the tests of codec.
package codectest
