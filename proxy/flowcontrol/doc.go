// Package flowcontrol decides who goes first and what has to end when something is scarce. [sluice/proxy/accounts] counts
// what callers hold, [sluice/proxy/queue] is where they wait, and [sluice/proxy/connections] counts their connections.
//
// [Control.WithFlowControl] is a filter behind authentication: it counts the request for its caller, or answers 429 with
// Retry-After. [CPU] gives out turns of the processors. [SlowReaders] ends responses
// whose clients read slowly while memory is scarce.
package flowcontrol
