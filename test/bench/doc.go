// Command bench loads the real kube-apiserver and Sluice in front of it with the same client code,
// in one run, and prints the cost of each request and each delivered event, beside a floor: a bare
// net/http and TLS server that writes the same bytes and does nothing else.
//
// The cost is CPU time of the server processes as the kernel counts it, because wall time depends
// on the other work of the machine. Rounds of the servers alternate, and figures are medians over
// rounds, with their range in parentheses. The control plane is one process, so its etcd counts as
// the apiserver; the report subtracts the CPU of updates, which is measured without readers.
//
// If Sluice passes a request upstream, the request costs the CPU of both processes and its source
// is "passed", so that a pass is not mistaken for a cache hit.
//
// A fan-out also reports the CPU of the clients, which read and decompress but do not decode, and the bytes as
// sent. Delays are from the acknowledgement of the update. The floor learns of it from the updater, as late
// as Sluice does from the apiserver, which also has the update to make in each round of the floor.
//
// Sluice memoizes encoded segments, so a list also reports the CPU of the first response, and its
// peak of memory includes that response.
//
// The proofs are consistent reads, for which Sluice must prove that its state is current: lists and
// streaming lists, whole, by namespace, by node and in pages, with quiet and with busy pods, at the
// apiserver, at one Sluice and at a Sluice in front of another. The run skips lists for which the
// apiserver would need more memory than the machine has, and the row has a note. --proofs runs only these.
//
// --abuse runs only what callers may cost each other; --only selects a part. 'abusive user': lists of thousands of users
// without and with one who lists all pods a hundred times as often, at the apiserver and at Sluice. 'attack slow-posts' and
// the like: what victims see of the attacks of package abuse, and at the apiserver meanwhile. 'crowd sluice', and
// 'crowd limited sluice' in 1 GiB: agents that share one service account, who come, and come back after a restart.
// 'kinds sluice': a controller that watches 1,000 kinds by informers of client-go, until all are served from the cache. The
// server has the first CPU to itself; the clients and the other server have the rest.
//
// --projections runs only informers of client-go that keep some fields of all pods, and watches of them while kubelets report the
// conditions of pods: the bytes, the heap of an informer, and the CPU of both sides.
//
// --scale runs only other measurements, in sections that each have their own control plane, whose objects
// are written straight into etcd: "cluster" has 100,000 pods and 300,000 ConfigMaps, and measures the time
// to sync, the memory per object, lists, pages, selections and consistent reads; "lists" has ten lists of
// 1 GB at once; "memory" has Sluice's memory after reads in all formats, of pods and of custom resources of
// 1.3 MB; "watches" has 10,000 watches of which 500 do not read. --pods and --watchers make them smaller.
//
// The nouns: a world is the running servers and their objects; a target is one server under load; a proc is its
// process. A scenario is an operation, such as the reads of some clients or the delivery of events to watches, that runs
// against each of its targets in rounds, beside a load of updates. Its samples, one for each target and round, become a
// row of a table of the report. A meter measures the servers meanwhile. A goal is the most that a number of the rows of a
// table may be.
package main
