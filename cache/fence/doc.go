// Package fence proves that a store shows everything that the apiserver had committed when a read began, at the
// least cost for the apiserver. See [Fence].
//
//	fence.go                the parts of a fence: probes, inventories, proofs and recovery, and their base
//	need.go, prove.go       the need of a read, and the way in
//	decide.go               the next action, and the facts by which it is chosen
//	read.go, allowance.go   the cost of reads under way, and the budget of proofs
//	worker.go               actions under way, each once
//	probe.go                the current version
//	confirm.go              proofs of a version: inventory.go, secondwatch.go
//	exact.go                proofs of exactly a version
//	recover.go              reads that have waited in vain
package fence
