// Package flowcontrol admits requests. [Admit], a filter behind authentication, takes the memory of a request for
// its caller, or answers 429 with Retry-After. [CPU] gives out turns of the processors. Ledgers and queues are those of
// [sluice/proxy/limits].
package flowcontrol
