// Package flowcontrol decides who goes first and what has to end when something is scarce. What callers
// hold is counted by accounts, and where they wait is a queue.
//
// [Control.WithFlowControl] is a filter behind authentication: it counts the request for its caller, or
// answers 429 with Retry-After. [Upstream] gives out places at the apiserver, and [CPU] turns of the processors.
// [Connections] counts connections and closes them in favor of others, [SlowReaders] ends responses whose clients
// read slowly while memory is scarce.
package flowcontrol
