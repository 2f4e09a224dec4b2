// Package flowcontrol decides who goes first when something is scarce. [sluice/proxy/limits] counts what callers hold, and
// [sluice/proxy/queue] is where they wait.
//
// [Control.WithFlowControl] is a filter behind authentication: it takes the memory of a request for its caller, or answers
// 429 with Retry-After. [Upstream] gives out places at the apiserver, and [CPU] turns of the processors.
package flowcontrol
