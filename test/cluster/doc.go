// Package cluster tests Sluice in a cluster with a real node: containerd, runc, kubelet, kube-proxy and
// kube-scheduler run real containers, and real clients in and outside of pods go through Sluice. Run it
// with make test-cluster; the README says what it needs.
package cluster
