// Controlplane runs a real Kubernetes control plane on loopback ports for tests, demos and
// benchmarks: etcd and kube-apiserver in one process and, in child processes, with --controllers
// the kube-controller-manager and with --sample the sample-apiserver behind the aggregator.
//
// Everything it needs or makes lives in one directory: certificates, tokens, kubeconfigs, etcd's
// data and the logs. Started again on the same directory and port, even after a kill -9, it
// continues with the same data and the same credentials.
//
// It prints one line when it is really ready and nothing else. It must not be used for anything
// that matters: etcd listens without TLS and never syncs to disk.
package main
