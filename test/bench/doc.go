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
// Sluice makes what it serves once, so a case also tells the CPU of its first answer, and its peak of
// memory includes that. What would take the apiserver more memory than the machine has is not asked of
// it, what would take it minutes is asked once; the line says so. Some of the rest it gets more time for
// than it has by default.
//
// The nouns: a bed is everything that runs, a target is one server under load, a proc is its process; a
// list case (streaming lists too), a fan-out or a latency case is run against each target in rounds and
// becomes a line of the report. Goals are judged by the worst of the lines that they are about.
package main
