// Package fence proves that a store shows everything that the apiserver had committed when a read began, at the
// least cost for the apiserver. See [Fence].
//
//	fence.go                the parts of a fence: probes, inventories, proofs and recovery, and what they share
//	need.go, prove.go       what a read needs, and the way in
//	decide.go, facts.go     what is done next, and what that is decided from
//	read.go, allowance.go   what reads under way would cost the apiserver, and what proofs may
//	worker.go, run.go       what runs, each action once
//	probe.go                the current version
//	confirm.go              proofs of a version: inventory.go, secondwatch.go
//	exact.go                proofs of exactly a version
//	recover.go              reads that have waited in vain
package fence
