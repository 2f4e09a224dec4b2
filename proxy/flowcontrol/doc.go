// Package flowcontrol orders requests for scarce places. [sluice/proxy/limits] counts the memory of callers, and
// [sluice/proxy/queue] is where they wait.
//
// [Control.WithFlowControl] is a filter behind authentication: it takes the memory of a request for its caller, or answers
// 429 with Retry-After. [Upstream] gives out places at the apiserver, and [CPU] turns of the processors.
package flowcontrol
