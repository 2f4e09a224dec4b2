// Command bench loads the real kube-apiserver and Sluice in front of it with the same client code, in
// one run, and prints what each request and each delivered event cost them, side by side with a floor:
// a bare net/http and TLS server that writes the same bytes and does nothing else.
//
// What is compared is CPU time of the server processes, as the kernel counts it: unlike wall time it
// means something on a machine that does other work too. Rounds of the servers alternate, and figures
// are medians over rounds. The control plane is one process, so its etcd counts as the apiserver, which
// matters for updates only; what updates cost without readers is measured and taken off.
//
// A request that Sluice passes upstream is charged with the CPU of both processes and marked passed:
// nobody shall take a pass for a hit.
//
// The nouns: a bed is everything that runs, a target is one server under load, a proc is its process; a
// list case or a fan-out is run against each target in rounds and becomes a line of the report.
package main
