// Package plan parses the demand of a read: which objects of which resource, at which version, in which format.
//
// A [Plan] is made in two steps, those that cost little first, and does not change afterwards:
//
//	Parse    plan.go     is this a plain read
//	         options.go  are its options valid, and which version may answer it
//	Resolve  plan.go     may the caller read it, is the resource cached, can its format be written
//	         fill.go     a store that is being filled is waited for
//	         selection.go, matcher.go, shards.go
//	                     which objects the selectors select, and how the store finds them
//
// estimate.go estimates the cost of the read at the apiserver, and continue.go holds the tokens of pages.
package plan
