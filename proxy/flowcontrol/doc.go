// Package flowcontrol decides who goes first and what has to end when something is scarce. What callers
// hold is counted by accounts; here are the places where they wait, and what ends.
//
// [Control.WithFlowControl] is a filter behind authentication: it counts the request for its caller, or
// answers 429 with Retry-After. [Queue] is where requests wait: for a place at the apiserver ([Upstream]),
// for a turn of the processors ([CPU]), for a stranger's place. [Connections] counts connections and closes them in favor of
// others, [SlowReaders] ends responses whose clients read slowly while memory is scarce.
package flowcontrol
