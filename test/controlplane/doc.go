// Controlplane runs a real Kubernetes control plane on loopback ports for tests, demos and
// benchmarks: etcd and kube-apiserver in one process, and in child processes the
// kube-controller-manager (with --controllers) and the sample-apiserver behind the aggregator (with
// --sample).
//
// One directory contains certificates, tokens, kubeconfigs, etcd's address and data, and logs. A
// control plane that is started again on the same directory and port, even after SIGKILL, has the
// same data and credentials.
//
// It prints one line to stdout when it is ready, and nothing else. It must not be used for anything of
// value: etcd listens without TLS and never syncs to disk.
package main
