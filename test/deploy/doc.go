// Package deploy tests what deploy/ installs: the chart and the kustomizations create the same objects, a real
// kube-apiserver accepts each of them, and what they configure, permit and query is what Sluice reads, needs
// and exports.
package deploy
